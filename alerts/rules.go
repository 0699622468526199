package alerts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Rule returns a rule. It fails with NotFound, and with Invalid for what is no
// id.
func (m *Monitor) Rule(ctx context.Context, tenant, id string) (Rule, error) {
	if err := checkRuleID(id); err != nil {
		return Rule{}, err
	}
	r, err := m.storedRule(ctx, tenant, id)
	if err == nil && (r == nil || !r.deletedAt.IsZero()) {
		err = noRule(id)
	}
	if err != nil {
		return Rule{}, err
	}
	return *r, nil
}

// storedRule returns a rule, also one that was deleted and has retirements; nil
// if there is none.
func (m *Monitor) storedRule(ctx context.Context, tenant, id string) (*Rule, error) {
	items, err := m.opts.Items.Get(ctx, []store.Key{ruleKey(tenant, id)}, true)
	if err != nil {
		return nil, fmt.Errorf("read rule %s: %w", id, err)
	}
	if len(items) == 0 {
		return nil, nil
	}
	r, err := ruleOf(&items[0])
	return &r, err
}

// checkRuleID keeps what is no id out of the keys that are asked for: stores have
// limits of their own for those.
func checkRuleID(id string) error {
	if err := varve.ValidateName("rule", id); err != nil {
		return varve.InvalidParam("rule", "%s", err)
	}
	return nil
}

func noRule(id string) error { return varve.Errorf(varve.NotFound, "there is no rule %q", id) }

// Rules returns the rules of a tenant in the order of their ids.
func (m *Monitor) Rules(ctx context.Context, tenant string) ([]Rule, error) {
	q := store.ItemQuery{PK: registry.TenantPK(tenant), From: rulePrefix, To: store.PrefixEnd(rulePrefix), Consistent: true}
	rules, err := m.readRules(ctx, q)
	return slices.DeleteFunc(rules, func(r Rule) bool { return !r.deletedAt.IsZero() }), err
}

func (m *Monitor) readRules(ctx context.Context, q store.ItemQuery) (rules []Rule, err error) {
	for {
		page, err := m.opts.Items.Query(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list rules: %w", err)
		}
		for i := range page.Items {
			r, err := ruleOf(&page.Items[i])
			if err != nil {
				return nil, err
			}
			rules = append(rules, r)
		}
		if !page.More {
			return rules, nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

// ruleSet is the rules of a tenant, by what they are about.
type ruleSet struct {
	streams map[string][]*Rule // those of whole streams
	devices map[string][]*Rule // those of one device
	// listened is what deadman rules need to be noted.
	listened devices.StreamFilter
	read     time.Time
}

// of returns the rules about a series.
func (s *ruleSet) of(series varve.Series) []*Rule {
	rules := s.streams[series.Stream]
	for _, r := range s.devices[series.Device] {
		if r.Stream == "" || r.Stream == series.Stream {
			rules = append(rules[:len(rules):len(rules)], r)
		}
	}
	return rules
}

func (s *ruleSet) empty() bool { return len(s.streams)+len(s.devices) == 0 }

// rules are copies of the tenants' rules.
type rules struct {
	mu      sync.RWMutex
	tenants map[string]*ruleSet
	changes int64 // how often any were forgotten
	made    int64 // the last incarnation
	loading sync.Mutex
}

// incarnation is the time at which a rule is made, to the nanosecond; where the
// clock stands, or was set back, it is the next moment after the last rule's.
func (c *rules) incarnation(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = max(c.made+1, now.UnixNano())
	return strconv.FormatInt(c.made, 36)
}

func (c *rules) forget(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.tenants, tenant)
}

func (c *rules) changed() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.changes
}

// remember keeps a copy that was read after so many changes. If there have been
// more since, it is good for who asked before them, and for nobody after.
func (c *rules) remember(tenant string, s *ruleSet, changes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == changes {
		c.tenants[tenant] = s
	}
}

// good returns the copy of a tenant's rules if it is not too old.
func (c *rules) good(tenant string, now time.Time) *ruleSet {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.tenants[tenant]
	if s == nil || now.Sub(s.read) >= cacheFor || now.Before(s.read) {
		return nil
	}
	return s
}

// inForce returns the value rules of a tenant, as they were at most ten seconds
// ago. One caller reads them; the others wait for it.
func (m *Monitor) inForce(ctx context.Context, tenant string) (*ruleSet, error) {
	if s := m.rules.good(tenant, m.opts.Now()); s != nil {
		return s, nil
	}
	m.rules.loading.Lock()
	defer m.rules.loading.Unlock()
	now := m.opts.Now()
	if s := m.rules.good(tenant, now); s != nil {
		return s, nil
	}
	changes := m.rules.changed()
	list, err := m.Rules(ctx, tenant)
	if err != nil {
		return nil, err
	}
	s := &ruleSet{streams: map[string][]*Rule{}, devices: map[string][]*Rule{}, listened: devices.StreamFilter{}, read: now}
	for i := range list {
		switch r := &list[i]; {
		case r.Kind != OnValue:
			if r.Stream != "" {
				s.listened.Add(r.Stream, r.Device)
			}
		case r.Device != "":
			s.devices[r.Device] = append(s.devices[r.Device], r)
		default:
			s.streams[r.Stream] = append(s.streams[r.Stream], r)
		}
	}
	m.rules.remember(tenant, s, changes)
	return s, nil
}
