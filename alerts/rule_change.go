package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// AddRule makes a rule. It is in force here at once, and in other processes
// within ten seconds. A rule that exists already, with the same content, is a
// Duplicate; with another, a Conflict. One that was deleted and is made again is
// a new rule: it has nothing to do with the alerts of the one before.
func (m *Monitor) AddRule(ctx context.Context, r Rule) (Rule, varve.Outcome, error) {
	if err := r.Validate(); err != nil {
		return r, 0, err
	}
	for {
		old, err := m.storedRule(ctx, r.Tenant, r.ID)
		if err != nil {
			return r, 0, err
		}
		if old != nil && old.deletedAt.IsZero() {
			m.rules.forget(r.Tenant) // its answer may have been lost
			if !old.same(&r) {
				return r, 0, varve.Errorf(varve.Conflict,
					"rule %s exists and says something else (%s): edit or delete it, or choose another id", r.ID, old)
			}
			return *old, varve.Duplicate, nil
		}
		made := r
		if err := m.measureGap(ctx, &made); err != nil {
			return r, 0, err
		}
		made.CreatedAt, made.incarnation = m.now(), m.rules.incarnation(m.opts.Now())
		cond := store.IfAbsent()
		if old != nil {
			made.retired, made.version, cond = old.retired, old.version, old.unchanged()
		}
		if done, err := m.writeRule(ctx, &made, cond); done || err != nil {
			return made, varve.Stored, err
		}
	}
}

// writeRule writes a rule in its next version, and reports whether the condition
// held.
func (m *Monitor) writeRule(ctx context.Context, r *Rule, cond store.Cond) (bool, error) {
	err := m.opts.Items.Put(ctx, r.item(), cond)
	m.rules.forget(r.Tenant)
	if errors.Is(err, store.ErrCondition) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write rule %s: %w", r.ID, err)
	}
	r.version++
	return true, nil
}

// EditRule replaces what a rule says. If its condition stays the same (all but
// the severity), so do its alerts; one whose alerts are open keeps those as they
// are. With another condition it is evaluated as a new rule, for readings that
// arrive from then on: its open alerts are resolved as ByRuleChanged. A gap that
// was measured stays while the condition does. It fails with NotFound.
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
		next, err := m.edited(ctx, old, r)
		if err != nil {
			return r, err
		}
		done, err := m.writeRule(ctx, &next, old.unchanged())
		if err != nil {
			return next, err
		}
		if done {
			return next, m.retireNow(ctx, &next)
		}
	}
}

// edited returns a rule with another content.
func (m *Monitor) edited(ctx context.Context, old, to Rule) (Rule, error) {
	to.CreatedAt, to.UpdatedAt, to.MutedUntil = old.CreatedAt, m.now(), old.MutedUntil
	to.incarnation, to.retired, to.version = old.incarnation, old.retired, old.version
	if to.Gap == 0 && to.sameCondition(&old) {
		to.Gap, to.GapMeasured = old.Gap, old.GapMeasured
		return to, nil
	}
	if err := m.measureGap(ctx, &to); err != nil || to.Gap == old.Gap && to.sameCondition(&old) {
		return to, err
	}
	to.incarnation = m.rules.incarnation(m.opts.Now())
	to.retire(old.incarnation, ByRuleChanged, m.now())
	return to, nil
}

// MuteRule mutes the alerts of a rule until a time, and returns it; the zero time
// ends that. It fails with NotFound, and with Invalid for a time that has passed.
func (m *Monitor) MuteRule(ctx context.Context, tenant, id string, until time.Time) (Rule, error) {
	if err := m.checkMute(until); err != nil {
		return Rule{}, err
	}
	for {
		r, err := m.Rule(ctx, tenant, id)
		if err != nil {
			return r, err
		}
		cond := r.unchanged()
		r.MutedUntil = until
		if done, err := m.writeRule(ctx, &r, cond); done || err != nil {
			return r, err
		}
	}
}

// DeleteRule takes a rule out of force, and resolves its open alerts, as
// ByRuleDeleted: many of them at once, and the rest within some minutes. It fails
// with NotFound, and with Invalid for a malformed id.
func (m *Monitor) DeleteRule(ctx context.Context, tenant, id string) error {
	for {
		r, err := m.Rule(ctx, tenant, id)
		if err != nil {
			return err
		}
		cond := r.unchanged()
		r.deletedAt = m.now()
		r.retire(r.incarnation, ByRuleDeleted, r.deletedAt)
		done, err := m.writeRule(ctx, &r, cond)
		if err != nil {
			return err
		}
		if done {
			return m.retireNow(ctx, &r)
		}
	}
}
