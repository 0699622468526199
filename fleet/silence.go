package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/lease"
)

// silenceLease names the lease of the process that looks after deadman rules,
// and silenceTTL is how long it lasts without a step: less than the minute from
// one look to the next, so that the second look of another process takes over
// what one that died has held.
const (
	silenceLease = "deadman"
	silenceTTL   = 45 * time.Second
)

// seenWithin is by how much a device may have been seen after it is noted to
// have been.
const seenWithin = time.Minute

// silence is what looks after deadman rules.
type silence struct {
	looking sync.Mutex
	lease   lease.Keeper // remembers since when another process has not renewed
}

// CheckSilence raises the alerts of deadman rules for devices that have become
// silent, and resolves those of devices that have not stayed so. It does
// nothing if another process does it, or this one still does. It is to be called
// every minute.
func (f *Fleet) CheckSilence(ctx context.Context) (err error) {
	if !f.silence.looking.TryLock() {
		return nil // a second look would take the lease from the first
	}
	defer f.silence.looking.Unlock()
	rules, err := f.readRules(ctx, store.ItemQuery{Index: store.GSI1, PK: deadmanPK})
	if err != nil || len(rules) == 0 {
		return err
	}
	l, err := f.silence.lease.Acquire(ctx, silenceLease)
	if errors.Is(err, lease.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	var errs []error
	for i := range rules {
		err := f.eachDevice(ctx, &rules[i], func(d *Device) error {
			if err := l.Check(ctx); err != nil {
				return err
			}
			return f.listen(ctx, &rules[i], d)
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("deadman rule %s: %w", rules[i].ID, err))
		}
	}
	return errors.Join(errs...)
}

// eachDevice calls do for the active devices that a deadman rule is about.
func (f *Fleet) eachDevice(ctx context.Context, r *Rule, do func(*Device) error) error {
	if r.Device != "" {
		d, err := f.Device(ctx, r.Tenant, r.Device)
		if varve.FailureOf(err) == varve.NotFound || err == nil && d.Status != Active {
			return nil
		}
		if err != nil {
			return err
		}
		return do(&d)
	}
	l := DeviceList{Tenant: r.Tenant, Status: Active, Limit: MaxLimit}
	for {
		page, err := f.Devices(ctx, l)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				return err
			}
		}
		if l.Cursor = page.Next; l.Cursor == "" {
			return nil
		}
	}
}

// listen compares how long a device has been silent with what is noted.
func (f *Fleet) listen(ctx context.Context, r *Rule, d *Device) error {
	last, after, known, err := f.lastHeard(ctx, r, d)
	if err != nil || !known {
		return err
	}
	l := look{lost: map[varve.Position]bool{}, f: f, rule: r, series: varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: d.Device}}
	// The last one, and the one before, which a look that was cut off may have
	// left open.
	if l.known, err = f.notes(ctx, r, l.series, "", "", varve.Descending, 2); err != nil {
		return err
	}
	at := varve.Position{Time: last.UnixNano(), ID: varve.HashID(0)}
	var should []run
	noted := false
	for _, old := range l.known {
		// One that begins later is another process's, which is ahead.
		noted = noted || old.start.Compare(at) >= 0
		if old.end == nil && old.start.Compare(at) < 0 {
			old.end = &at
			should = append(should, old)
		}
	}
	if silent := f.opts.Now().Sub(last); !noted && silent >= r.For+after {
		opened := at
		opened.Time += int64(r.For)
		should = append(should, run{start: at, opened: opened})
	}
	l.lo, l.hi = at, at
	_, err = l.change(ctx, should)
	return err
}

// lastHeard returns when a device was last heard of, and by how much that may
// be too early. Of one that has sent nothing yet, that is when it was
// registered; a rule about a stream does not know devices that have sent
// nothing in it.
func (f *Fleet) lastHeard(ctx context.Context, r *Rule, d *Device) (last time.Time, after time.Duration, known bool, err error) {
	if r.Stream != "" {
		last, known, err = f.opts.Source.LastArrival(ctx, varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: d.Device})
		return last, 0, known, err
	}
	if d.LastSeenAt.IsZero() {
		return d.CreatedAt, 0, true, nil
	}
	return d.LastSeenAt, seenWithin, true, nil
}
