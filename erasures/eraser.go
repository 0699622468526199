package erasures

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// Options configure an Eraser. All but Layouts, Rejects, Archiver, Alone, AloneWithArchives, LastArrival
// and Changed are required.
type Options struct {
	Store   store.Store
	Items   store.Items // accepts writes even if the disk is full
	Streams *streams.Registry
	Devices *devices.Registry
	Rejects *rejects.Registry
	Rollups *rollup.Aggregator
	// Archiver has the archives of tables. If nil, tables are not archived.
	Archiver *archive.Archiver
	// Layouts has the configured layouts of streams, by name.
	Layouts map[string]store.Layout
	// Forget removes the facts about a series that this process remembers.
	Forget func(varve.Series)
	// Alone calls a function while this process does not aggregate roll-ups. If nil, this process never
	// aggregates.
	Alone func(func() error) error
	// AloneWithArchives calls a function while no other job writes, merges or deletes archives. If such a job
	// runs, AloneWithArchives fails, and the erasure is retried. If AloneWithArchives is nil, no such job
	// exists.
	AloneWithArchives func(ctx context.Context, do func(context.Context) error) error
	Now               func() time.Time
	// LastArrival returns the last arrival that stored readings may have. After the clock was set back, the
	// result may be later than Now. If LastArrival is nil, no stored arrival is later than Now.
	LastArrival func() time.Time
	Holder      string // names this process in leases
	// Future is the longest time by which an event time may be after the arrival.
	Future time.Duration
	// Settle is how long an erasure waits before it reads everything once more. It must be at least
	// store.Eraser.ErasureDelay, and at least the longest time that a write may take. If several processes
	// write, the maximum difference between their clocks is added to the latter.
	Settle time.Duration
	// Changed is called after an erasure begins, changes its state, or fails an attempt that will be
	// retried. It may be nil.
	Changed func(Record)
}

// Eraser plans and performs erasures. It is safe for concurrent use.
type Eraser struct {
	opts  Options
	lease lease.Manager
}

const leaseTTL = 5 * time.Minute

// New returns an Eraser.
func New(o Options) *Eraser {
	if o.Alone == nil {
		o.Alone = func(do func() error) error { return do() }
	}
	if o.AloneWithArchives == nil {
		o.AloneWithArchives = func(ctx context.Context, do func(context.Context) error) error { return do(ctx) }
	}
	if o.LastArrival == nil {
		o.LastArrival = o.Now
	}
	if o.Changed == nil {
		o.Changed = func(Record) {}
	}
	return &Eraser{opts: o, lease: lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: leaseTTL}}
}

// scope is the data of a target, as it is stored now.
type scope struct {
	Target
	streams []streams.Stream
	tables  []store.Info
}

// find returns the streams and the tables that may have data of a target. It never includes tables
// that belong to other programs. It fails while one of the tables is being dropped.
func (e *Eraser) find(ctx context.Context, t Target) (s scope, err error) {
	s.Target = t
	if t.Stream != "" {
		st, err := e.opts.Streams.Get(ctx, t.Tenant, t.Stream, true)
		if err != nil {
			return s, err
		}
		st.Tenant, st.Name = t.Tenant, t.Stream
		s.streams = []streams.Stream{st}
	} else if s.streams, err = e.allStreams(ctx, t.Tenant); err != nil {
		return s, err
	}
	infos, err := e.opts.Store.Tables(ctx, store.Filter{Any: true, Window: t.Window, Details: true, Fresh: true})
	for i := range infos {
		switch in := &infos[i]; {
		case !in.Owned || in.Status == store.Gone:
		case in.Status == store.Deleting: // an interrupted drop may be undone, so its readings may stay
			return s, &varve.Error{Failure: varve.Unavailable, RetryAfter: firstRetry, Message: fmt.Sprintf("table %s is being dropped: retry later", in.Table)}
		default:
			s.tables = append(s.tables, *in)
		}
	}
	return s, err
}

// allStreams returns the streams of a tenant. It includes streams whose items the registry has lost,
// if tables name them.
func (e *Eraser) allStreams(ctx context.Context, tenant string) ([]streams.Stream, error) {
	list, err := e.opts.Streams.List(ctx, tenant)
	reader, ok := e.opts.Store.(store.LayoutReader)
	if err != nil || !ok {
		return list, err
	}
	layouts, err := reader.StreamLayouts(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i := range list {
		known[list[i].Name] = true
	}
	for i := range layouts {
		sl := &layouts[i]
		if sl.Tenant != tenant || known[sl.Stream] {
			continue
		}
		st, err := e.opts.Streams.Get(ctx, tenant, sl.Stream, true)
		if err != nil {
			return nil, err
		}
		st.Tenant, st.Name, known[sl.Stream] = tenant, sl.Stream, true
		list = append(list, st)
	}
	return list, nil
}

// layout returns a layout that finds all readings of the device in a stream.
func (e *Eraser) layout(st *streams.Stream, device string) store.Layout {
	return st.Layout(device).Widen(store.Layout{RowWindow: e.opts.Layouts[st.Name].RowWindow})
}

// count returns the number of covered readings of a series in a table.
func (e *Eraser) count(ctx context.Context, x store.Erasure) (n int64, err error) {
	r := store.Range{Table: x.Table, Series: x.Series, Window: x.Window, Consistent: true, Layout: x.Layout}
	var page store.Page
	for {
		if page, err = e.opts.Store.Read(ctx, r, page.Readings); err != nil {
			return n, err
		}
		for i := range page.Readings {
			if x.Covers(page.Readings[i].Time, page.Readings[i].Arrived) {
				n++
			}
		}
		if !page.More {
			return n, nil
		}
		last := page.Readings[len(page.Readings)-1].Position()
		r.After = &last
	}
}
