package alerts

import (
	"context"
	"github.com/varvedb/varve/lease"
	"sync"
	"time"
)

// seenWithin is by how much a device may have been seen after it is noted to
// have been.
const seenWithin = time.Minute

// silence is what looks after deadman rules, and what it remembers from one look
// to the next.
type silence struct {
	looking sync.Mutex
	lease   lease.Manager       // remembers since when another process has not renewed
	held    *lease.Lease        // from one look to the next; nil: it is given up
	token   int64               // of the last look's lease
	heard   map[string]*hearing // by rule
}

// took begins a look under a lease. If another process may have looked since the
// last one, it may have opened alerts about devices that are remembered to have
// none, or ended some: each is looked at closely, once.
func (s *silence) took(l *lease.Lease) {
	others := l.Token() != s.token+1
	s.held, s.token = l, l.Token()
	if !others {
		return
	}
	for _, h := range s.heard {
		for name, d := range h.devices {
			d.again = true
			h.devices[name] = d
		}
	}
}

// release lets another process look at once.
func (s *silence) release(ctx context.Context) error {
	if s.held == nil {
		return nil
	}
	err := s.held.Release(ctx)
	s.held = nil
	return err
}

// hearing is what is remembered of a deadman rule.
type hearing struct {
	since   time.Time // its first look
	devices map[string]heard
}

// heard is a device as a look left it.
type heard struct {
	last  time.Time     // it was last heard of; zero: never
	after time.Duration // by how much that may be too early
	open  bool          // an alert is open about the silence since then
	again bool          // there was something to change, or another process looked
	// asked: the tables were, for what had arrived before the rule made it be
	// noted, or need not be. The last of it was base; zero: there was none.
	asked bool
	base  time.Time
}

// calm reports whether a device of which it is now known when it was last heard
// of needs no closer look. An alert that is open stays so until it is heard of.
// Where none is open, one may be since another process looked, and then there is
// a closer look again (see took). One that lost its lease in the midst of a look
// may open one even later, but only over a silence of as long as the rule says: so
// not between two times that lie closer together.
func (h *heard) calm(r *Rule, last time.Time, after time.Duration, now time.Time) bool {
	gap := last.Sub(h.last)
	switch {
	case h.again:
		return false
	case h.open:
		return gap == 0
	case last.IsZero():
		return h.asked
	}
	least := min(max(r.For/2, 2*time.Minute), r.For+h.after)
	return gap < least && now.Sub(last) < r.For+after
}

// key tells a rule from all others that are or were.
func (r *Rule) key() string { return r.Tenant + "/" + r.name() }

// keep forgets all rules but these.
func (s *silence) keep(rules []Rule) {
	kept := make(map[string]*hearing, len(rules))
	for i := range rules {
		name := rules[i].key()
		if h := s.heard[name]; h != nil {
			kept[name] = h
		}
	}
	s.heard = kept
}

// of returns what is remembered of a rule.
func (s *silence) of(r *Rule, now time.Time) *hearing {
	h := s.heard[r.key()]
	if h == nil {
		h = &hearing{since: now}
		s.heard[r.key()] = h
	}
	return h
}
