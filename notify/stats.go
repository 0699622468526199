package notify

import (
	"sync"
	"time"
)

// Stats are the counts of one notifier since the start of the process. Pending and Oldest are from the last
// read of the outbox, and zero in processes that do not deliver.
type Stats struct {
	Notifier  string
	Delivered int64
	Failed    int64 // number of messages whose last attempt failed permanently; a digest counts once
	Retried   int64 // number of failed attempts, including the last attempt of a failed message
	Pending   int
	Oldest    time.Time // when the oldest pending message was queued; zero if none is pending
}

// counters collects the stats of all notifiers. It is safe for concurrent use.
type counters struct {
	mu     sync.Mutex
	names  []string
	byName map[string]*Stats
	silent int64
}

func (c *counters) init(targets []Target) {
	c.byName = map[string]*Stats{}
	for i := range targets {
		name := targets[i].Name
		c.names, c.byName[name] = append(c.names, name), &Stats{Notifier: name}
	}
}

func (c *counters) addEnded(notifier string, s State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == Failed {
		c.byName[notifier].Failed++
	} else {
		c.byName[notifier].Delivered++
	}
}

func (c *counters) addAttempt(notifier string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byName[notifier].Retried++
}

func (c *counters) addSilent(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent += int64(max(n, 0))
}

func (c *counters) setQueues(queues map[string]*queueState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range c.byName {
		s.Pending, s.Oldest = 0, time.Time{}
		if q := queues[name]; q != nil {
			s.Pending, s.Oldest = q.pending, q.oldest
		}
	}
}

// Stats returns the counts of all notifiers, in the order of the targets.
func (s *Sender) Stats() []Stats {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	all := make([]Stats, len(s.counts.names))
	for i, name := range s.counts.names {
		all[i] = *s.counts.byName[name]
	}
	return all
}

// SilentCount returns the number of silent deliveries since the start of the process.
func (s *Sender) SilentCount() int64 {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	return s.counts.silent
}
