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
	// sweepers is the number of devices that are evaluated concurrently.
	sweepers = 8
	// maxDeviceFailures is the number of failed devices after which a sweep ends early. That many
	// failures usually have a common cause.
	maxDeviceFailures = 10
)

// deadmanSources has the sources that a sweep reads, and the stores of its alerts.
type deadmanSources struct {
	stores
	devices *devices.Registry
	source  Source
	now     func() time.Time
	// requestTime is the largest delay between the arrival of a reading and its writing.
	requestTime time.Duration
}

// sweep is one check of the devices of a deadman rule.
//
// Usually, nearly all devices were seen a moment ago, and have no open alert. Their last-seen
// records are read in batches, and compared with the state after the last sweep. Only devices whose
// state is not up to date are evaluated one by one.
type sweep struct {
	*deadmanSources
	rule     *Rule
	kind     clockKind
	recorded bool                   // every process writes last-seen records for the rule
	before   map[string]deviceState // device states after the last sweep

	mu      sync.Mutex
	lease   *lease.Lease
	after   map[string]deviceState
	stopped bool  // the lease is lost, or the context has ended
	failed  int   // number of failed devices
	err     error // error of the first failed device
}

func (s *sweep) checkDevices(ctx context.Context) error {
	r := s.rule
	if r.Device != "" {
		d, err := s.devices.GetIn(ctx, r.Tenant, r.Device, r.Stream)
		if varve.FailureOf(err) == varve.NotFound || err == nil && d.Status != devices.Active {
			return nil
		}
		if err != nil {
			return err
		}
		return s.checkPage(ctx, []devices.Device{d})
	}
	q := devices.Query{Tenant: r.Tenant, Status: devices.Active, Stream: r.Stream, Limit: registry.MaxLimit}
	for {
		page, err := s.devices.List(ctx, q)
		if err == nil {
			err = s.checkPage(ctx, page.Items)
		}
		if q.Cursor = page.Next; err != nil || q.Cursor == "" || s.isOver() {
			return err
		}
	}
}

// checkPage checks some devices. If the check of a device fails, the other devices are still checked,
// unless isOver returns true.
func (s *sweep) checkPage(ctx context.Context, list []devices.Device) error {
	if err := s.checkLease(ctx); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(sweepers)
	now := s.now()
	for i := range list {
		d := &list[i]
		state, known := s.before[d.Device]
		seen := s.lastSeen(d, &state)
		if known && state.upToDate(s.rule, seen, now) {
			state.seen = seen
			s.put(d, state)
			continue
		}
		g.Go(func() error {
			if s.isOver() {
				return nil
			}
			err := s.checkLease(ctx)
			if err == nil {
				err = s.checkDevice(ctx, d, state)
			}
			s.addResult(ctx, d, err)
			return nil
		})
	}
	return g.Wait() // always nil: addResult records the errors
}

func (s *sweep) checkLease(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.Check(ctx)
}

// addResult counts a device that failed, and records the first error. It stops the sweep if the lease
// is lost or the context has ended.
func (s *sweep) addResult(ctx context.Context, d *devices.Device, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed++; s.err == nil {
		s.err = fmt.Errorf("device %s: %w", d.Device, err)
	}
	s.stopped = s.stopped || errors.Is(err, lease.ErrLost) || ctx.Err() != nil
}

// isOver reports whether the sweep must end early.
func (s *sweep) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped || s.failed >= maxDeviceFailures
}

func (s *sweep) put(d *devices.Device, state deviceState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after[d.Device] = state
}

// lastSeen returns the time at which a device was last seen, or zero if it is unknown. For a rule
// without a stream, a device that has sent nothing counts as seen when it was registered. For a
// rule on a stream, the time is unknown if the device has sent nothing to that stream.
func (s *sweep) lastSeen(d *devices.Device, state *deviceState) lastSeen {
	switch {
	case state.lastArrival.After(d.LastSeenAt):
		return lastSeen{at: state.lastArrival, late: s.requestTime}
	case d.LastSeenAt.IsZero() && s.rule.Stream == "":
		return lastSeen{at: d.CreatedAt}
	default:
		return lastSeen{at: d.LastSeenAt, late: maxSeenDelay}
	}
}

// checkDevice evaluates one device, and stores its state. If an episode has changed, or the
// evaluation fails, the next sweep evaluates the device once more.
func (s *sweep) checkDevice(ctx context.Context, d *devices.Device, state deviceState) error {
	if err := s.refresh(ctx, d, &state); err != nil {
		return err
	}
	seen := s.lastSeen(d, &state)
	state.seen, state.open, state.recheck = seen, false, false
	if seen.at.IsZero() {
		if state.tablesRead {
			s.put(d, state)
		}
		return nil
	}
	changed, open, err := s.evaluate(ctx, d, seen)
	state.open, state.recheck = open, changed || err != nil
	s.put(d, state)
	return err
}

// refresh rereads the last-seen time of a device that seems silent, because lists may be outdated.
// Last-seen records of a stream are only written while a deadman rule on the stream is in force. So
// if the device was last seen before the rule was added or edited, refresh reads the last arrival from
// the tables, once. This is not necessary for a device that was registered after that.
func (s *sweep) refresh(ctx context.Context, d *devices.Device, state *deviceState) error {
	r := s.rule
	if s.seemsSilent(d, state) && r.Device == "" {
		if err := s.devices.Refresh(ctx, d, r.Stream); err != nil {
			return err
		}
	}
	from := r.CreatedAt
	if r.UpdatedAt.After(from) { // the edit may have changed the stream or the device
		from = r.UpdatedAt
	}
	from = from.Add(cacheFor + lease.MaxClockSkew)
	state.tablesRead = state.tablesRead || d.CreatedAt.After(from)
	complete := d.LastSeenAt.After(from)
	if r.Stream == "" || state.tablesRead || complete || !s.seemsSilent(d, state) {
		return nil
	}
	if !s.recorded {
		d.LastSeenAt = time.Time{} // unknown: some processes may not record last-seen times for this rule yet
		return nil
	}
	last, found, err := s.source.LastArrival(ctx, varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: d.Device})
	if err != nil {
		return fmt.Errorf("read the last arrival: %w", err)
	}
	if state.tablesRead = true; found {
		state.lastArrival = last
	}
	return nil
}

func (s *sweep) seemsSilent(d *devices.Device, state *deviceState) bool {
	return s.lastSeen(d, state).silentFor(s.rule.For, s.now())
}

// evaluate updates the episodes of a device. It reports whether an episode has changed. If none
// has, the result "open" reports whether an alert about the current silence is open.
func (s *sweep) evaluate(ctx context.Context, d *devices.Device, seen lastSeen) (changed, open bool, err error) {
	c := reconciler{
		subject: subjectOf(s.rule, varve.Series{Tenant: s.rule.Tenant, Stream: s.rule.Stream, Device: d.Device}),
		stores:  s.stores,
	}
	// Two episodes are read: the last one, and the one before it, which an interrupted sweep may
	// have left open.
	recorded, err := s.records.load(ctx, &c.subject, keyRange{order: varve.Descending, limit: 2})
	if err != nil {
		return false, false, err
	}
	at := seen.position()
	found, known := findings{span: span{lo: at, hi: at}}, history{recorded: timelineOf(recorded...)}
	found.wanted, open = s.kind.evaluate(s.rule, seen, s.now(), recorded)
	changed, err = c.reconcile(ctx, &found, &known)
	return changed, open, err
}
