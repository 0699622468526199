package erasures

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

const (
	// heldEvery is how often a held erasure checks whether the holds on its tables have ended.
	heldEvery = 10 * time.Minute
	// firstRetry and lastRetry bound the delay after a failed attempt. It doubles with each failure.
	firstRetry = 10 * time.Second
	lastRetry  = time.Hour
)

// Run continues the erasures that are due. It returns the time when the next one is due, or the zero
// time if no later one is known. It does nothing while another process works on erasures. If one
// erasure fails, its record has the reason, and the others continue.
func (e *Eraser) Run(ctx context.Context) (next time.Time, err error) {
	records, err := e.open(ctx)
	if err != nil {
		return next, err
	}
	var due []string
	for i := range records {
		at := records[i].Next
		if !e.opts.Now().Before(at) {
			due = append(due, records[i].ID)
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(due) == 0 {
		return next, nil
	}
	l, err := e.lease.Acquire(ctx, "erasures")
	if errors.Is(err, lease.ErrHeld) {
		return next, nil
	}
	if err != nil {
		return next, err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	for _, id := range due {
		at, err := e.continueErasure(ctx, l, id)
		if err != nil {
			return next, err
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

// continueErasure makes one pass of an erasure, and writes the result to its record. It returns when
// the next pass is due. It fails only if the record cannot be read or written, the lease is lost, or
// ctx ends.
func (e *Eraser) continueErasure(ctx context.Context, l *lease.Lease, id string) (next time.Time, err error) {
	r, err := e.Get(ctx, id) // rereads the record, because the list of due erasures may be out of date
	if err != nil || r.State == Done {
		return next, err
	}
	before := r.State
	p := pass{e: e, lease: l, record: &r}
	err = p.makePass(ctx)
	if ctx.Err() != nil || errors.Is(err, lease.ErrLost) {
		return next, cmp.Or(context.Cause(ctx), err)
	}
	now := e.opts.Now().UTC()
	if err != nil {
		r.Problem, r.failures = err.Error(), r.failures+1
		delay := firstRetry << min(r.failures-1, 10)
		r.Next = now.Add(min(delay, lastRetry))
	} else {
		r.Problem, r.failures = "", 0
		p.advance(now)
	}
	if err := e.put(ctx, &r); err != nil {
		return next, err
	}
	if r.State != before || r.Problem != "" {
		e.opts.Changed(r)
	}
	return r.Next, nil
}

// pass searches all data of an erasure once, and deletes the data that it finds.
type pass struct {
	e      *Eraser
	lease  *lease.Lease
	record *Record
	scope  scope
	holds  []Count // numbers of readings in tables and archives on hold
	erased int64   // number of readings that this pass erased or found at its end
}

// makePass erases the data of the target, and then counts the readings that are left. It writes the
// record after each table with erased readings, so that the counts survive an interruption.
func (p *pass) makePass(ctx context.Context) error {
	r := p.record
	var err error
	if p.scope, err = p.e.find(ctx, r.Target); err != nil {
		return err
	}
	if err := p.eraseReadings(ctx); err != nil {
		return err
	}
	if err := p.eraseArchives(ctx); err != nil {
		return err
	}
	if r.rollupsDue {
		if err := p.eraseRollups(ctx); err != nil {
			return err
		}
	}
	if r.State == Held { // this pass has erased nothing, so alerts and other traces belong to readings that arrived after the plan
		return p.verify(ctx)
	}
	traces, err := p.e.eraseTraces(ctx, &p.scope)
	if err != nil {
		return err
	}
	r.Traces.add(&traces)
	for i := range p.scope.streams {
		p.e.opts.Forget(r.series(p.scope.streams[i].Name))
	}
	if err := p.e.opts.Store.PurgeItems(ctx, p.scope.partitions()); err != nil {
		return err
	}
	return p.verify(ctx)
}

func (t *Traces) add(o *Traces) {
	t.Rollups, t.Alerts, t.Logs, t.Rejects, t.Records = t.Rollups+o.Rollups, t.Alerts+o.Alerts, t.Logs+o.Logs, t.Rejects+o.Rejects, t.Records+o.Records
	t.Registration = t.Registration || o.Registration
}

// eraseReadings erases the readings in all tables, except in tables on hold.
func (p *pass) eraseReadings(ctx context.Context) error {
	for i := range p.scope.tables {
		in := &p.scope.tables[i]
		found := false
		for j := range p.scope.streams {
			if err := p.lease.Check(ctx); err != nil {
				return err
			}
			n, err := p.eraseSeries(ctx, in, j)
			if n > 0 {
				found = true
				p.erased += n
				p.record.Erased = addCount(p.record.Erased, in.Name(), p.scope.streams[j].Name, n)
			}
			if err != nil && !errors.Is(err, store.ErrNoTable) { // ErrNoTable: the table was dropped meanwhile
				return err
			}
		}
		if found {
			if err := p.e.put(ctx, p.record); err != nil {
				return err
			}
		}
	}
	return nil
}

// eraseSeries erases the readings of a stream in a table, and returns how many it erased. If the table
// is on hold, eraseSeries only counts them. If no reading is left, it still calls the store, because an
// interrupted call may have left the bytes of readings in files. In the state Held, an earlier pass has
// made this call.
func (p *pass) eraseSeries(ctx context.Context, in *store.Info, stream int) (int64, error) {
	x := p.erasure(in, stream)
	n, err := p.e.count(ctx, x)
	if err != nil {
		return 0, err
	}
	if n > 0 && in.Hold == "" {
		if err := p.begin(ctx); err != nil {
			return 0, err
		}
	}
	if n == 0 && p.record.State == Held {
		return 0, nil // an earlier pass has removed the bytes of the readings
	}
	var erased int64
	if err = (&store.HoldError{Reason: in.Hold}); in.Hold == "" {
		erased, err = p.e.opts.Store.Erase(ctx, x)
	}
	var held *store.HoldError
	if !errors.As(err, &held) {
		return erased, err
	}
	if n > 0 {
		p.holds = append(p.holds, Count{Table: in.Name(), Stream: p.scope.streams[stream].Name, Readings: n, Hold: held.Reason})
	}
	return 0, nil
}

// begin records that readings are being deleted. So after an interruption, a later pass still deletes the
// roll-ups and other records of deleted readings. The erasure then waits for the full delay after its last
// deletion.
func (p *pass) begin(ctx context.Context) error {
	r := p.record
	if r.rollupsDue && r.State == Erasing {
		return nil
	}
	r.rollupsDue, r.State = true, Erasing
	return p.e.put(ctx, r)
}

func (p *pass) erasure(in *store.Info, stream int) store.Erasure {
	st, r := &p.scope.streams[stream], p.record
	return store.Erasure{Table: in.Table, Series: r.series(st.Name), Window: r.Window, Arrived: r.Arrived, Layout: p.e.layout(st, r.Device)}
}

func addCount(list []Count, table, stream string, n int64) []Count {
	for i := range list {
		if list[i].Table == table && list[i].Stream == stream {
			list[i].Readings += n
			return list
		}
	}
	return append(list, Count{Table: table, Stream: stream, Readings: n})
}

// eraseRollups removes the roll-ups with erased readings, so that they are recomputed from the remaining
// readings.
func (p *pass) eraseRollups(ctx context.Context) error {
	for i := range p.scope.streams {
		err := p.e.opts.Alone(func() error {
			n, err := p.e.opts.Rollups.ErasePartials(ctx, p.record.series(p.scope.streams[i].Name), p.record.Window, p.record.Arrived)
			if p.record.Passes == 0 {
				p.record.Traces.Rollups += n
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	p.record.rollupsDue = false
	return nil
}

// verify reads all tables consistently, and counts the readings that are left.
func (p *pass) verify(ctx context.Context) error {
	for i := range p.scope.tables {
		for j := range p.scope.streams {
			if err := p.lease.Check(ctx); err != nil {
				return err
			}
			in, st := &p.scope.tables[i], &p.scope.streams[j]
			if slices.ContainsFunc(p.holds, func(c Count) bool { return c.Table == in.Name() && c.Stream == st.Name }) {
				continue
			}
			n, err := p.e.count(ctx, p.erasure(in, j))
			if err != nil && !errors.Is(err, store.ErrNoTable) {
				return err
			}
			p.erased += n // these readings were written during the pass, and the next pass erases them
		}
	}
	return nil
}

// advance sets the next state after a pass. The erasure is done or held if the pass found no reading that
// can be erased, and the delay has passed since the last deletion. Other records do not count: a pass may
// find some as long as the device sends later readings.
func (p *pass) advance(now time.Time) {
	r := p.record
	r.Passes++
	r.Holds = p.holds
	switch {
	case p.erased > 0 || r.State == Erasing:
		r.State, r.Next = Settling, now.Add(p.e.opts.Settle)
	case len(p.holds) > 0:
		r.State, r.Next = Held, now.Add(heldEvery)
	default:
		r.State, r.Next, r.Ended = Done, time.Time{}, now
	}
}
