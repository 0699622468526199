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
	// retireWithin is the time after which no process uses the old version of a rule that was
	// deleted or changed. Until then, a process may still open alerts for the old version.
	// ResolveRetired resolves them.
	retireWithin = 5 * time.Minute
	// retiredAtOnce bounds the alerts that a request reads when it deletes or changes a rule.
	// ResolveRetired resolves the rest later.
	retiredAtOnce = 10_000
)

// retirer resolves the alerts of rules that were deleted or changed.
type retirer struct {
	rules  *ruleStore
	alerts *alertStore
	now    func() time.Time
	failed func(task string, err error)
}

// resolveAll resolves the open alerts of rules whose generation has ended. See retirement.
func (t *retirer) resolveAll(ctx context.Context) error {
	rules, err := t.rules.query(ctx, store.ItemQuery{Index: store.GSI2, PK: retiredPK})
	if err != nil {
		return err
	}
	var errs []error
	for i := range rules {
		if err := t.finish(ctx, &rules[i]); err != nil {
			errs = append(errs, fmt.Errorf("resolve the alerts of rule %s: %w", rules[i].ID, err))
		}
	}
	return errors.Join(errs...)
}

// begin resolves the open alerts of a rule that was deleted or changed just now. These alerts belong to
// earlier generations of the rule. It reads at most retiredAtOnce alerts. If this fails, begin calls
// failed and returns nil: the deletion or change of the rule has succeeded, and ResolveRetired retries.
func (t *retirer) begin(ctx context.Context, r *Rule) error {
	if r.retired == "" {
		return nil
	}
	if err := t.resolve(ctx, r, retiredAtOnce); err != nil && ctx.Err() == nil {
		t.failed("alerts of rule "+r.ID, err)
	}
	return nil
}

// finish resolves the open alerts of a rule's ended generations. It removes retirements that are
// older than retireWithin. It deletes the item of a deleted rule once no retirements remain.
func (t *retirer) finish(ctx context.Context, r *Rule) error {
	list, err := parseRetirements(r.retired)
	if err != nil {
		return err
	}
	now := t.now()
	over := func(x retirement) bool { return now.Sub(x.at) >= retireWithin }
	if !slices.ContainsFunc(list, func(x retirement) bool { return !x.passed || over(x) }) {
		return nil // the alerts of each retirement were resolved once, and none is old enough to be removed
	}
	if err := t.resolve(ctx, r, 0); err != nil {
		return err
	}
	cond := r.unchanged()
	list = slices.DeleteFunc(list, over)
	for i := range list {
		list[i].passed = true
	}
	if r.retired = retirementsText(list); r.retired != "" || r.deletedAt.IsZero() {
		_, err := t.rules.put(ctx, r, cond) // if another process changed the rule, the next call retries
		return err
	}
	return t.rules.remove(ctx, r, cond)
}

// resolve resolves the open alerts of a rule's ended generations. The argument "limit" is the
// maximum number of alerts to read; 0 means all.
func (t *retirer) resolve(ctx context.Context, r *Rule, limit int) error {
	list, err := parseRetirements(r.retired)
	if err != nil {
		return err
	}
	reasons := map[string]string{}
	for _, x := range list {
		reasons[x.generation] = x.reason
	}
	// Alerts without a generation are from older versions of Varve. They belong to the oldest
	// retirement.
	reasonOf := func(it *store.Item) string {
		if text := it.Attrs[generationAttr].Text(); text != "" {
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
		Stop: func() bool { return limit > 0 && seen >= limit },
	}
	for {
		items, more, err := registry.Merge(ctx, t.rules.items, s)
		if err != nil {
			return err
		}
		for i := range items {
			a, err := alertOf(r.Tenant, &items[i])
			if err == nil {
				err = t.alerts.resolve(ctx, &a, reasonOf(&items[i]))
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
