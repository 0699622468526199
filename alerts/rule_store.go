package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// ruleStore stores the rules of all tenants, and caches the rules in force.
type ruleStore struct {
	items store.Items
	now   func() time.Time
	cache ruleCache
}

// checkRuleID rejects malformed ids before they reach the store, which has limits of its
// own for keys.
func checkRuleID(id string) error {
	if err := varve.ValidateName("rule", id); err != nil {
		return varve.InvalidParam("rule", "%s", err)
	}
	return nil
}

func ruleNotFound(id string) error {
	return varve.Errorf(varve.NotFound, "rule %q: not found: GET /v1/alert-rules lists all rules", id)
}

// find returns a rule. It fails with NotFound if the rule is missing, and with Invalid for a
// malformed id.
func (s *ruleStore) find(ctx context.Context, tenant, id string) (Rule, error) {
	if err := checkRuleID(id); err != nil {
		return Rule{}, err
	}
	r, err := s.get(ctx, tenant, id)
	if err == nil && (r == nil || !r.deletedAt.IsZero()) {
		err = ruleNotFound(id)
	}
	if err != nil {
		return Rule{}, err
	}
	return *r, nil
}

// get returns a rule, or nil if it is missing. It also returns a deleted rule whose item is not
// removed yet.
func (s *ruleStore) get(ctx context.Context, tenant, id string) (*Rule, error) {
	items, err := s.items.Get(ctx, []store.Key{ruleKey(tenant, id)}, true)
	if err != nil {
		return nil, fmt.Errorf("read rule %s: %w", id, err)
	}
	if len(items) == 0 {
		return nil, nil
	}
	r, err := ruleOf(&items[0])
	return &r, err
}

// list returns the rules of a tenant that are not deleted, sorted by id.
func (s *ruleStore) list(ctx context.Context, tenant string) ([]Rule, error) {
	q := store.ItemQuery{PK: registry.TenantPK(tenant), From: rulePrefix, To: store.PrefixEnd(rulePrefix), Consistent: true}
	rules, err := s.query(ctx, q)
	return slices.DeleteFunc(rules, func(r Rule) bool { return !r.deletedAt.IsZero() }), err
}

func (s *ruleStore) query(ctx context.Context, q store.ItemQuery) (rules []Rule, err error) {
	for {
		page, err := s.items.Query(ctx, q)
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

// put writes the next version of a rule if the stored item meets a condition, and reports whether it
// does.
func (s *ruleStore) put(ctx context.Context, r *Rule, cond store.Cond) (bool, error) {
	err := s.items.Put(ctx, r.item(), cond)
	s.cache.drop(r.Tenant)
	if errors.Is(err, store.ErrCondition) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write rule %s: %w", r.ID, err)
	}
	r.version++
	return true, nil
}

// remove deletes the item of a rule, unless it has changed.
func (s *ruleStore) remove(ctx context.Context, r *Rule, cond store.Cond) error {
	err := s.items.Delete(ctx, ruleKey(r.Tenant, r.ID), cond)
	if errors.Is(err, store.ErrCondition) {
		return nil
	}
	return err
}

// inForce returns the rules of a tenant as they were at most ten seconds ago. One caller
// reads them while the others wait.
func (s *ruleStore) inForce(ctx context.Context, tenant string) (*ruleSet, error) {
	if set := s.cache.get(tenant, s.now()); set != nil {
		return set, nil
	}
	s.cache.loading.Lock()
	defer s.cache.loading.Unlock()
	now := s.now()
	if set := s.cache.get(tenant, now); set != nil {
		return set, nil
	}
	changes := s.cache.changeCount()
	list, err := s.list(ctx, tenant)
	if err != nil {
		return nil, err
	}
	set := ruleSetOf(list, now)
	s.cache.put(tenant, set, changes)
	return set, nil
}
