package alerts

import (
	"strconv"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
)

// cacheFor is the age at which cached rules are reread.
const cacheFor = 10 * time.Second

// ruleSet has the rules of a tenant: by stream, by device and by id.
type ruleSet struct {
	streams map[string][]*Rule // rules on the readings of all devices of a stream, by stream
	devices map[string][]*Rule // rules on the readings of one device, by device
	byID    map[string]*Rule   // all rules, including deadman rules, by id
	// seen selects the streams for which deadman rules need last-seen records.
	seen   devices.StreamFilter
	readAt time.Time
}

func ruleSetOf(list []Rule, readAt time.Time) *ruleSet {
	s := &ruleSet{streams: map[string][]*Rule{}, devices: map[string][]*Rule{}, byID: map[string]*Rule{}, seen: devices.StreamFilter{}, readAt: readAt}
	for i := range list {
		s.byID[list[i].ID] = &list[i]
		switch r := &list[i]; {
		case r.byReadings() == nil:
			if r.Stream != "" {
				s.seen.Add(r.Stream, r.Device)
			}
		case r.Device != "":
			s.devices[r.Device] = append(s.devices[r.Device], r)
		default:
			s.streams[r.Stream] = append(s.streams[r.Stream], r)
		}
	}
	return s
}

// of returns the rules that are evaluated on readings of a series.
func (s *ruleSet) of(series varve.Series) []*Rule {
	rules := s.streams[series.Stream]
	for _, r := range s.devices[series.Device] {
		if r.Stream == "" || r.Stream == series.Stream {
			rules = append(rules[:len(rules):len(rules)], r)
		}
	}
	return rules
}

func (s *ruleSet) isEmpty() bool { return len(s.streams)+len(s.devices) == 0 }

// ruleCache has copies of the tenants' rules. It is safe for concurrent use.
type ruleCache struct {
	mu         sync.RWMutex
	tenants    map[string]*ruleSet
	changes    int64 // the number of calls of drop
	generation int64 // the generation that nextGeneration returned last
	loading    sync.Mutex
}

// nextGeneration returns a new generation as text. It is the time in nanoseconds. If that is not
// greater than the last generation, it is the last generation plus one.
func (c *ruleCache) nextGeneration(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation = max(c.generation+1, now.UnixNano())
	return strconv.FormatInt(c.generation, 36)
}

func (c *ruleCache) drop(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.tenants, tenant)
}

func (c *ruleCache) changeCount() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.changes
}

// put adds a copy of a tenant's rules. The argument "changes" is the result of changeCount from
// before the copy was read. If the count has increased since, the copy may be outdated, and is not
// added.
func (c *ruleCache) put(tenant string, s *ruleSet, changes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == changes {
		c.tenants[tenant] = s
	}
}

// get returns the copy of a tenant's rules, or nil if it is missing or too old.
func (c *ruleCache) get(tenant string, now time.Time) *ruleSet {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.tenants[tenant]
	if s == nil || now.Sub(s.readAt) >= cacheFor || now.Before(s.readAt) {
		return nil
	}
	return s
}
