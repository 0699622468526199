package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// ResolveAlert resolves an alert by hand, unless it is resolved, and returns it.
// It stays resolved even if the condition holds on; when it holds again later,
// that is another alert. It fails with NotFound.
func (m *Monitor) ResolveAlert(ctx context.Context, tenant, id string) (Alert, error) {
	return m.changeAlert(ctx, tenant, id, func(a *Alert) bool { return m.resolve(a, ByHand) })
}

// resolve marks an open alert as resolved, and reports whether it was open.
func (m *Monitor) resolve(a *Alert, by string) bool {
	if !a.Open() {
		return false
	}
	a.ResolvedAt, a.ResolvedBy = m.now(), by
	return true
}

// AcknowledgeAlert records that somebody has taken notice of an alert, and
// returns it. Who did so before is replaced. It fails with NotFound, and with
// Invalid for texts that are too long.
func (m *Monitor) AcknowledgeAlert(ctx context.Context, tenant, id, by, note string) (Alert, error) {
	if err := errors.Join(checkWords("by", by), checkWords("note", note)); err != nil {
		return Alert{}, err
	}
	return m.changeAlert(ctx, tenant, id, func(a *Alert) bool {
		if a.Acknowledged.By == by && a.Acknowledged.Note == note && !a.Acknowledged.At.IsZero() {
			return false // sent twice
		}
		a.Acknowledged = Acknowledgement{By: by, At: m.now(), Note: note}
		return true
	})
}

// MuteAlert mutes an alert until a time, and returns it; the zero time ends that.
// It fails with NotFound, and with Invalid for a time that has passed.
func (m *Monitor) MuteAlert(ctx context.Context, tenant, id string, until time.Time) (Alert, error) {
	if err := m.checkMute(until); err != nil {
		return Alert{}, err
	}
	return m.changeAlert(ctx, tenant, id, func(a *Alert) bool {
		changed := !a.MutedUntil.Equal(until)
		a.MutedUntil = until
		return changed
	})
}

func (m *Monitor) checkMute(until time.Time) error {
	if !until.IsZero() && !until.After(m.opts.Now()) {
		return varve.InvalidParam("until", "%s has passed: use a later time", until.UTC().Format(time.RFC3339))
	}
	return nil
}

// changeAlert changes an alert, and returns it as it is then. If change returns
// false, or if it was withdrawn, nothing is written.
func (m *Monitor) changeAlert(ctx context.Context, tenant, id string, change func(*Alert) bool) (Alert, error) {
	for {
		a, version, err := m.findAlert(ctx, tenant, id)
		if err != nil || a.ResolvedBy == Withdrawn || !change(&a) {
			return a, err
		}
		err = m.opts.Items.Put(ctx, a.item(registry.Int(version)+1), store.IfEquals("version", version))
		if err == nil {
			return a, nil
		}
		if !errors.Is(err, store.ErrCondition) {
			return a, fmt.Errorf("write alert %s: %w", a.ID, err)
		}
		// It was changed in between: read it again.
	}
}

// raise writes what readings say of an alert. What people said of it stays, and
// its severity.
func (m *Monitor) raise(ctx context.Context, a Alert) error {
	for {
		old, version, err := m.alert(ctx, a.Tenant, a.Device, a.ID)
		if err != nil {
			return err
		}
		next, cond := a, store.IfAbsent()
		if old != nil {
			next, cond = old.changed(a), store.IfEquals("version", version)
		}
		err = m.opts.Items.Put(ctx, next.item(registry.Int(version)+1), cond)
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
		// It was changed in between: read it again.
	}
}

// changed returns an alert as readings say that it is now. One that had moved is
// as new, but for what was said of it.
func (a *Alert) changed(now Alert) Alert {
	s := a.said()
	s.add(now.said())
	now.Acknowledged, now.MutedUntil = s.acknowledged, s.mutedUntil
	if !a.moved.IsZero() {
		return now
	}
	now.Severity = a.Severity
	if a.settled() {
		now.ResolvedAt, now.ResolvedBy = a.ResolvedAt, a.ResolvedBy
	}
	return now
}

// withdraw marks that an alert has moved: another takes its place, or none. Its
// id goes on to lead there.
func (m *Monitor) withdraw(ctx context.Context, tenant, device, id, incarnation string, e extent) error {
	for {
		a, version, err := m.alert(ctx, tenant, device, id)
		if err != nil || a == nil || !a.moved.IsZero() {
			return err
		}
		a.move(m.now(), incarnation, e)
		err = m.opts.Items.Put(ctx, a.item(registry.Int(version)+1), store.IfEquals("version", version))
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
		// It was changed in between: read it again.
	}
}

// move marks that an alert has moved at a time.
func (a *Alert) move(at time.Time, incarnation string, e extent) {
	a.moved, a.extent, a.incarnation = at, e, incarnation
}
