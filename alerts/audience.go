package alerts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/registry"
)

const (
	// listeners is how many devices are asked for at a time.
	listeners = 8
	// mostFailures is after how many devices that could not be looked at a look
	// gives up: it is not about them.
	mostFailures = 10
)

// audience is one look at the devices of a deadman rule.
//
// Nearly all were heard of a moment ago, and no alert is open about them: when
// they were seen is read of many at once, and compared with what the look before
// has left. Only those that are silent, or were, are asked for one by one.
type audience struct {
	m       *Monitor
	rule    *Rule
	settled bool             // what is written is noted for this rule
	was     map[string]heard // as the look before left the devices

	mu     sync.Mutex
	lease  *lease.Lease
	is     map[string]heard // as this look leaves them
	lost   bool             // the lease is, or nobody waits any more
	failed int              // devices
	err    error            // the first of theirs
}

// eachPage looks at all devices.
func (a *audience) eachPage(ctx context.Context) error {
	r := a.rule
	if r.Device != "" {
		d, err := a.m.opts.Devices.GetIn(ctx, r.Tenant, r.Device, r.Stream)
		if varve.FailureOf(err) == varve.NotFound || err == nil && d.Status != devices.Active {
			return nil
		}
		if err != nil {
			return err
		}
		return a.page(ctx, []devices.Device{d})
	}
	q := devices.Query{Tenant: r.Tenant, Status: devices.Active, Stream: r.Stream, Limit: registry.MaxLimit}
	for {
		page, err := a.m.opts.Devices.List(ctx, q)
		if err == nil {
			err = a.page(ctx, page.Items)
		}
		if q.Cursor = page.Next; err != nil || q.Cursor == "" || a.over() {
			return err
		}
	}
}

// page looks at some devices. One that cannot be looked at keeps no other from
// it.
func (a *audience) page(ctx context.Context, list []devices.Device) error {
	if err := a.check(ctx); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(listeners)
	now := a.m.opts.Now()
	for i := range list {
		d := &list[i]
		was, known := a.was[d.Device]
		last, after := a.lastOf(d, &was)
		if known && was.calm(a.rule, last, after, now) {
			was.last, was.after = last, after
			a.remember(d, was)
			continue
		}
		g.Go(func() error {
			if a.over() {
				return nil
			}
			err := a.check(ctx)
			if err == nil {
				err = a.listen(ctx, d, was)
			}
			a.note(ctx, d, err)
			return nil
		})
	}
	return g.Wait() // it is all noted
}

// check makes sure that the lease is still held.
func (a *audience) check(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lease.Check(ctx)
}

// note takes in what came of a device.
func (a *audience) note(ctx context.Context, d *devices.Device, err error) {
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed++; a.err == nil {
		a.err = fmt.Errorf("device %s: %w", d.Device, err)
	}
	a.lost = a.lost || errors.Is(err, lease.ErrLost) || ctx.Err() != nil
}

// over reports whether there is no sense in going on.
func (a *audience) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost || a.failed >= mostFailures
}

func (a *audience) remember(d *devices.Device, h heard) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.is[d.Device] = h
}

// lastOf returns when a device was last heard of, and by how much that may be
// too early; the zero time if it is not known to have been. Of one that has sent
// nothing yet, that is when it was registered; a rule about a stream does not
// know devices that have sent nothing in it.
func (a *audience) lastOf(d *devices.Device, h *heard) (last time.Time, after time.Duration) {
	switch {
	case h.base.After(d.LastSeenAt):
		return h.base, a.m.opts.RequestTimeout
	case d.LastSeenAt.IsZero() && a.rule.Stream == "":
		return d.CreatedAt, 0
	default:
		return d.LastSeenAt, seenWithin
	}
}

// listen looks at one device, and remembers how it is; if there was something to
// change, it is looked at again.
func (a *audience) listen(ctx context.Context, d *devices.Device, h heard) error {
	if err := a.makeSure(ctx, d, &h); err != nil {
		return err
	}
	last, after := a.lastOf(d, &h)
	h.last, h.after, h.open, h.again = last, after, false, false
	if last.IsZero() {
		if h.asked {
			a.remember(d, h)
		}
		return nil
	}
	changed, open, err := a.m.listen(ctx, a.rule, d, last, after)
	h.open, h.again = open, changed || err != nil
	a.remember(d, h)
	return err
}

// makeSure looks closer at a device that seems to be silent: at when it was seen
// as it is now, since lists may lag behind; and, if it was before the rule made
// that be noted, at the tables, once. Of a device that was registered later, all
// was noted: it is registered by the first that it sends.
func (a *audience) makeSure(ctx context.Context, d *devices.Device, h *heard) error {
	r := a.rule
	if a.due(d, h) && r.Device == "" {
		if err := a.m.opts.Devices.Refresh(ctx, d, r.Stream); err != nil {
			return err
		}
	}
	from := r.CreatedAt.Add(cacheFor + lease.MaxClockSkew)
	h.asked = h.asked || d.CreatedAt.After(from)
	noted := d.LastSeenAt.After(from)
	if r.Stream == "" || h.asked || noted || !a.due(d, h) {
		return nil
	}
	if !a.settled {
		d.LastSeenAt = time.Time{} // nothing is known of it before the next look
		return nil
	}
	base, found, err := a.m.opts.Source.LastArrival(ctx, varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: d.Device})
	if err != nil {
		return fmt.Errorf("read the last arrival: %w", err)
	}
	if h.asked = true; found {
		h.base = base
	}
	return nil
}

// due reports whether a device seems to be silent for long enough.
func (a *audience) due(d *devices.Device, h *heard) bool {
	last, after := a.lastOf(d, h)
	return a.m.opts.Now().Sub(last) >= a.rule.For+after
}
