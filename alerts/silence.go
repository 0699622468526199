package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

// silenceLease names the lease of the process that looks after deadman rules,
// and silenceTTL is how long it lasts without a step: more than the minute from
// one look to the next, so that who looked last goes on, by what it remembers.
// What one that died has held, the third look of another process takes over.
const (
	silenceLease = "deadman"
	silenceTTL   = 75 * time.Second
)

// CheckSilence raises the alerts of deadman rules for devices that have become
// silent, and resolves those of devices that have not stayed so. It does
// nothing if another process does it, or this one still does. It is to be called
// every minute.
func (m *Monitor) CheckSilence(ctx context.Context) error {
	if !m.silence.looking.TryLock() {
		return nil // a second look would take the lease from the first
	}
	defer m.silence.looking.Unlock()
	rules, err := m.readRules(ctx, store.ItemQuery{Index: store.GSI1, PK: deadmanPK})
	if err != nil {
		return err
	}
	if m.silence.keep(rules); len(rules) == 0 {
		return nil
	}
	l, err := m.silence.lease.Acquire(ctx, silenceLease)
	if errors.Is(err, lease.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	m.silence.took(l)
	var errs []error
	for i := range rules {
		if err := m.hear(ctx, l, &rules[i]); err != nil {
			errs = append(errs, fmt.Errorf("deadman rule %s: %w", rules[i].ID, err))
		}
	}
	if len(errs) > 0 { // another process may fare better
		errs = append(errs, m.silence.release(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

// hear looks at the active devices that a deadman rule is about.
func (m *Monitor) hear(ctx context.Context, l *lease.Lease, r *Rule) error {
	now := m.opts.Now()
	h := m.silence.of(r, now)
	// A rule that this process has known for so long is in force everywhere.
	a := audience{m: m, rule: r, settled: now.Sub(h.since) >= cacheFor, was: h.devices, lease: l, is: map[string]heard{}}
	err := a.eachPage(ctx)
	h.devices = a.is
	if a.failed > 1 {
		a.err = fmt.Errorf("%w (and %d devices more)", a.err, a.failed-1)
	}
	return errors.Join(err, a.err)
}

// listen compares how long a device has been silent with what is noted, and
// reports whether there was something to change, and if not, whether an alert is
// open about this silence.
func (m *Monitor) listen(ctx context.Context, r *Rule, d *devices.Device, last time.Time, after time.Duration) (changed, open bool, err error) {
	l := evaluation{lost: map[varve.Position]bool{}, m: m, rule: r, message: r.String(), series: varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: d.Device}}
	// The last one, and the one before, which a look that was cut off may have
	// left open.
	recorded, err := m.notes(ctx, r, l.series, "", "", varve.Descending, 2)
	if err != nil {
		return false, false, err
	}
	l.known = timelineOf(recorded...)
	at := varve.Position{Time: last.UnixNano(), ID: varve.HashID(0)}
	var should []run
	noted := false
	for _, old := range recorded {
		// One that begins later is another process's, which is ahead.
		if old.start.Compare(at) >= 0 {
			noted, open = true, open || old.end == nil
			continue
		}
		if old.end == nil {
			old.end = &at
			should = append(should, old)
		}
	}
	if silent := m.opts.Now().Sub(last); !noted && silent >= r.For+after {
		opened := at
		opened.Time += int64(r.For)
		should = append(should, run{start: at, opened: opened})
	}
	l.lo, l.hi = at, at
	changed, err = l.change(ctx, should)
	return changed, open, err
}
