package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	// retireWithin is after how long no process goes by a rule any more that was
	// deleted or changed: what it raised meanwhile is resolved then.
	retireWithin = 5 * time.Minute
	// retiredAtOnce is how many alerts are looked at before a request that deletes
	// or changes a rule is answered; the worker resolves the rest.
	retiredAtOnce = 10_000
)

// ResolveRetired resolves the open alerts of rules that were deleted or changed,
// as far as that was not done at once. It is to be called every minute. Several
// processes may do so at a time.
func (m *Monitor) ResolveRetired(ctx context.Context) error {
	rules, err := m.readRules(ctx, store.ItemQuery{Index: store.GSI2, PK: retiredPK})
	if err != nil {
		return err
	}
	var errs []error
	for i := range rules {
		if err := m.retire(ctx, &rules[i]); err != nil {
			errs = append(errs, fmt.Errorf("resolve the alerts of rule %s: %w", rules[i].ID, err))
		}
	}
	return errors.Join(errs...)
}

// retireNow resolves the open alerts of a rule that has just been deleted or
// changed, if they are not too many. What fails is left to the worker: the rule
// is deleted.
func (m *Monitor) retireNow(ctx context.Context, r *Rule) error {
	if r.retired == "" {
		return nil
	}
	if err := m.resolveRetired(ctx, r, retiredAtOnce); err != nil && ctx.Err() == nil {
		m.opts.Failed("alerts of rule "+r.ID, err)
	}
	return nil
}

// retire resolves the alerts of a rule's retirements, and drops those that are
// over. A rule without any that was deleted is forgotten.
func (m *Monitor) retire(ctx context.Context, r *Rule) error {
	list, err := parseRetirements(r.retired)
	if err != nil {
		return err
	}
	now := m.opts.Now()
	over := func(t retirement) bool { return now.Sub(t.at) >= retireWithin }
	if !slices.ContainsFunc(list, func(t retirement) bool { return !t.passed || over(t) }) {
		return nil // the last time is still to come
	}
	if err := m.resolveRetired(ctx, r, 0); err != nil {
		return err
	}
	cond := r.unchanged()
	list = slices.DeleteFunc(list, over)
	for i := range list {
		list[i].passed = true
	}
	if r.retired = retirementsText(list); r.retired != "" || r.deletedAt.IsZero() {
		_, err := m.writeRule(ctx, r, cond) // one that was changed is looked at in a minute
		return err
	}
	err = m.opts.Items.Delete(ctx, ruleKey(r.Tenant, r.ID), cond)
	if errors.Is(err, store.ErrCondition) {
		return nil
	}
	return err
}

// resolveRetired resolves the alerts of a rule's retirements that are open. It
// looks at so many alerts at the most; 0 means all.
func (m *Monitor) resolveRetired(ctx context.Context, r *Rule, most int) error {
	list, err := parseRetirements(r.retired)
	if err != nil {
		return err
	}
	reasons := map[string]string{}
	for _, t := range list {
		reasons[t.incarnation] = t.reason
	}
	// Alerts from before incarnations were recorded count as those of the oldest.
	reasonOf := func(it *store.Item) string {
		if text := it.Attrs["incarnation"].Text(); text != "" {
			return reasons[text]
		}
		return list[0].reason
	}
	seen := 0
	s := registry.Span{
		Index: store.GSI1, Prefix: alertPrefix, Order: varve.Descending, Limit: registry.MaxLimit,
		PKs: registry.AllShards(severityKind, r.Tenant, Severities()...),
		Match: func(it *store.Item) bool {
			seen++
			return it.Attrs["rule"].Text() == r.ID && it.Attrs["resolvedBy"].Text() == "" && reasonOf(it) != ""
		},
		Stop: func() bool { return most > 0 && seen >= most },
	}
	for {
		items, more, err := registry.Merge(ctx, m.opts.Items, s)
		if err != nil {
			return err
		}
		for i := range items {
			a, err := alertOf(r.Tenant, &items[i])
			if err == nil {
				err = m.resolveListed(ctx, &a, reasonOf(&items[i]))
			}
			if err != nil {
				return err
			}
		}
		if !more || s.Stop() {
			return nil
		}
		s.After = strings.TrimPrefix(items[len(items)-1].SK, alertPrefix)
	}
}

// resolveListed resolves an alert of a list, if it is still open and stands.
func (m *Monitor) resolveListed(ctx context.Context, a *Alert, by string) error {
	for {
		now, version, err := m.alert(ctx, a.Tenant, a.Device, a.ID)
		if err != nil || now == nil || !now.moved.IsZero() || !m.resolve(now, by) {
			return err
		}
		err = m.opts.Items.Put(ctx, now.item(registry.Int(version)+1), store.IfEquals("version", version))
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
		// It was changed in between: read it again.
	}
}
