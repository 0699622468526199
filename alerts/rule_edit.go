package alerts

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Rule returns a rule. It fails with NotFound if the rule is missing, and with Invalid for a
// malformed id.
func (m *Monitor) Rule(ctx context.Context, tenant, id string) (Rule, error) {
	return m.rules.find(ctx, tenant, id)
}

// Rules returns the rules of a tenant, sorted by id.
func (m *Monitor) Rules(ctx context.Context, tenant string) ([]Rule, error) {
	return m.rules.list(ctx, tenant)
}

// AddRule adds a rule. This process applies it immediately, and other processes within ten seconds.
// If a rule with the same id exists, the outcome is Duplicate for equal content. For other content,
// AddRule fails with Conflict. A rule with the id of a deleted one is a new rule. It does not
// change the alerts of the old one.
func (m *Monitor) AddRule(ctx context.Context, r Rule) (Rule, varve.Outcome, error) {
	if err := r.Validate(); err != nil {
		return r, 0, err
	}
	for {
		old, err := m.rules.get(ctx, r.Tenant, r.ID)
		if err != nil {
			return r, 0, err
		}
		if old != nil && old.deletedAt.IsZero() {
			m.rules.cache.drop(r.Tenant) // another process may have added the rule, so the cache may lack it
			if !old.equalContent(&r) {
				return r, 0, varve.Errorf(varve.Conflict,
					"rule %s exists with other content (%s): edit or delete it, or choose another id", r.ID, old)
			}
			return *old, varve.Duplicate, nil
		}
		added := r
		if err := m.gaps.measure(ctx, &added); err != nil {
			return r, 0, err
		}
		added.CreatedAt, added.generation = m.time(), m.rules.cache.nextGeneration(m.opts.Now())
		cond := store.IfAbsent()
		if old != nil {
			added.retired, added.version, cond = old.retired, old.version, old.unchanged()
		}
		if done, err := m.rules.put(ctx, &added, cond); done || err != nil {
			return added, varve.Stored, err
		}
	}
}

// EditRule replaces the content of a rule. It fails with NotFound if the rule is missing.
//
// If only Severity or Late changes, open alerts stay open with their old severity. If the condition
// changes, the rule is evaluated as a new one, for readings that arrive from then on. Its open
// alerts are resolved as ByRuleChanged. A measured gap stays until the condition changes.
func (m *Monitor) EditRule(ctx context.Context, r Rule) (Rule, error) {
	if err := checkRuleID(r.ID); err != nil {
		return r, err
	}
	if err := r.Validate(); err != nil {
		return r, err
	}
	for {
		old, err := m.Rule(ctx, r.Tenant, r.ID)
		if err != nil {
			return r, err
		}
		next, err := m.editedRule(ctx, old, r)
		if err != nil {
			return r, err
		}
		done, err := m.rules.put(ctx, &next, old.unchanged())
		if err != nil {
			return next, err
		}
		if done {
			return next, m.retirer.begin(ctx, &next)
		}
	}
}

// editedRule returns the rule "old" with the content of "to". If the condition differs, the result has
// a new generation.
func (m *Monitor) editedRule(ctx context.Context, old, to Rule) (Rule, error) {
	to.CreatedAt, to.UpdatedAt, to.MutedUntil = old.CreatedAt, m.time(), old.MutedUntil
	to.generation, to.retired, to.version = old.generation, old.retired, old.version
	if to.Gap == 0 && to.sameCondition(&old) {
		to.Gap, to.GapMeasured = old.Gap, old.GapMeasured
		return to, nil
	}
	if err := m.gaps.measure(ctx, &to); err != nil || to.Gap == old.Gap && to.sameCondition(&old) {
		return to, err
	}
	to.generation = m.rules.cache.nextGeneration(m.opts.Now())
	to.retire(old.generation, ByRuleChanged, m.time())
	return to, nil
}

// MuteRule mutes the alerts of a rule until a time, and returns the rule. The zero time ends the
// mute. MuteRule fails with NotFound if the rule is missing, and with Invalid for a time in the
// past or after the year 9999.
func (m *Monitor) MuteRule(ctx context.Context, tenant, id string, until time.Time) (Rule, error) {
	if err := checkMute(until, m.opts.Now()); err != nil {
		return Rule{}, err
	}
	for {
		r, err := m.Rule(ctx, tenant, id)
		if err != nil {
			return r, err
		}
		cond := r.unchanged()
		r.MutedUntil = until
		if done, err := m.rules.put(ctx, &r, cond); done || err != nil {
			return r, err
		}
	}
}

func checkMute(until, now time.Time) error {
	switch {
	case until.IsZero():
	case !until.After(now):
		return varve.InvalidParam("until", "%s has passed: use a later time", until.UTC().Format(time.RFC3339))
	case until.UTC().Year() > 9999: // such a time cannot be read from the store, nor written as JSON
		return varve.InvalidParam("until", "after the year 9999 in UTC: use an earlier time")
	}
	return nil
}

// DeleteRule deletes a rule, and resolves its open alerts as ByRuleDeleted. It resolves many of
// them before it returns, and leaves the rest to ResolveRetired. It fails with NotFound if the rule
// is missing, and with Invalid for a malformed id.
func (m *Monitor) DeleteRule(ctx context.Context, tenant, id string) error {
	for {
		r, err := m.Rule(ctx, tenant, id)
		if err != nil {
			return err
		}
		cond := r.unchanged()
		r.deletedAt = m.time()
		r.retire(r.generation, ByRuleDeleted, r.deletedAt)
		done, err := m.rules.put(ctx, &r, cond)
		if err != nil {
			return err
		}
		if done {
			return m.retirer.begin(ctx, &r)
		}
	}
}

// ResolveRetired resolves the alerts of deleted and changed rules that DeleteRule and EditRule have
// left open. The caller calls it every minute. Several processes may call it at the same time.
func (m *Monitor) ResolveRetired(ctx context.Context) error { return m.retirer.resolveAll(ctx) }
