package alerts_test

import (
	"context"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/store"
	"strings"
	"testing"
	"time"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

// slow is a store that calls the function "do" once, after it has read some items and before it
// returns them.
type slow struct {
	store.Items
	prefix string // prefix of the sort keys whose read triggers the call
	do     func()
}

func (s *slow) read(sk string) {
	if do := s.do; do != nil && strings.HasPrefix(sk, s.prefix) {
		s.do = nil
		do()
	}
}

func (s *slow) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	page, err := s.Items.Query(ctx, q)
	s.read(q.From)
	return page, err
}

func (s *slow) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	items, err := s.Items.Get(ctx, keys, consistent)
	s.read(keys[0].SK)
	return items, err
}

func newSlow(t *testing.T) (*world, *slow) {
	s := &slow{}
	w := newWorld(t, func(o *alerts.Options) {
		s.Items = o.Items
		o.Items = s
	})
	return w, s
}

// TestRuleCache_DropsRulesChangedWhileRead checks that a rule is in force in this process from its
// creation to its deletion. The rule must be in force even if the rules are being read at either moment.
func TestRuleCache_DropsRulesChangedWhileRead(t *testing.T) {
	w, s := newSlow(t)
	r := above(5, 0)
	r.ID = "high"
	s.prefix, s.do = "RULE#", func() { w.rule(r) }
	w.send(valued(0, 1))
	w.send(valued(1, 9))
	if got := w.summary(); got != "1-1-" {
		t.Errorf("a rule that was made: %q", got)
	}
	w.advance(10 * time.Second)
	s.do = func() { must(t, w.DeleteRule(t.Context(), tenant, "high")) }
	w.send(valued(2, 9))
	w.send(valued(3, 1))
	if got := w.summary(); got != "1-1-deleted" || s.do != nil {
		t.Errorf("a rule that was deleted: %q", got)
	}
}

// TestAddRule_DropsCacheForDuplicate adds a rule in one process and then, as a client does after a
// lost answer, in a second one. The second process has cached that no rule exists. It must apply
// the rule immediately.
func TestAddRule_DropsCacheForDuplicate(t *testing.T) {
	w := newWorld(t)
	w.send(valued(0, 1)) // caches the rules of the tenant, before the first rule exists
	other, _ := w.process(w.options)
	defer other.Close()
	r := above(5, 0)
	r.ID, r.Tenant = "high", tenant
	_, _, err := other.AddRule(t.Context(), r)
	must(t, err)
	w.rule(r)
	w.send(valued(1, 9))
	if got := w.summary(); got != "1-1-" {
		t.Error(got)
	}
}
