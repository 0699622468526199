package rotator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

// world is a service with an in-memory store and a clock that the test sets.
type world struct {
	t      testing.TB
	clock  time.Time
	mem    *mem.Store
	store  *watched
	policy rotator.Policy

	rotator *rotator.Rotator
	router  *router.Router
	query   *query.Engine
	starts  int
	inUse   func(event time.Time) bool // if not nil, reports whether roll-ups need the readings of an event time
}

// newWorld returns a world whose clock shows the given time. The caller must call start.
func newWorld(t testing.TB, at time.Time) *world {
	w := &world{t: t, clock: at}
	w.mem = mem.New(w.now)
	w.store = &watched{Store: w.mem}
	return w
}

func (w *world) now() time.Time { return w.clock }

// start starts another process that uses the same store.
func (w *world) start(p rotator.Policy) {
	w.t.Helper()
	if err := p.Validate(); err != nil {
		w.t.Fatal(err)
	}
	w.starts++
	w.policy = p.WithDefaults()
	known := streams.New(w.store, w.now)
	w.rotator = rotator.New(rotator.Options{
		Catalog: w.store, Creator: w.store, Lifecycle: w.store, Items: w.store, Policy: p, Now: w.now,
		Holder: fmt.Sprintf("process %d", w.starts), Expirer: w.store,
		ReadingsInUse: func(context.Context) (func(grid.Table) func(event time.Time) bool, error) {
			return func(grid.Table) func(event time.Time) bool { return w.inUse }, nil
		},
	})
	w.router = router.New(router.Options{
		Writer: w.store, Creator: w.store, Streams: known, Policy: p.Retention, Grid: p.Grid, Now: w.now,
	})
	w.query = query.New(query.Options{
		Reader: w.store, Catalog: w.store, Streams: known, Policy: p.Retention, Now: w.now,
	})
}

// write sends one reading. It returns the reading as it was stored, and its verdict.
func (w *world) write(stream, device string, at time.Time, value int64) (varve.Reading, varve.Verdict) {
	w.t.Helper()
	req, err := w.router.Admit()
	if err != nil {
		w.t.Fatal(err)
	}
	defer req.Done()
	readings := []varve.Reading{{
		Series: series(stream, device), Time: at,
		Fields: []varve.Field{{Name: "value", Value: varve.IntValue(value)}},
	}}
	verdicts := make([]varve.Verdict, 1)
	if err := req.Write(w.t.Context(), readings, verdicts); err != nil {
		w.t.Fatal(err)
	}
	return readings[0], verdicts[0]
}

func (w *world) read(stream, device string) ([]varve.Reading, query.Coverage) {
	w.t.Helper()
	rows, err := w.query.Open(w.t.Context(), query.Query{
		Series: series(stream, device), Window: varve.AllTime(), Consistent: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var all []varve.Reading
	for {
		readings, err := rows.Next(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if len(readings) == 0 {
			return all, rows.Coverage()
		}
		for i := range readings {
			all = append(all, readings[i].Clone())
		}
	}
}

func (w *world) tables() []store.Info {
	w.t.Helper()
	infos, err := w.rotator.Tables(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return infos
}

func series(stream, device string) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: stream, Device: device}
}

// watched is a store that calls a hook before each of its calls. The hook may make the call fail.
type watched struct {
	*mem.Store
	before func(op string, t grid.Table) error
}

func (s *watched) intercept(op string, t grid.Table) error {
	if s.before == nil {
		return nil
	}
	return s.before(op, t)
}

func (s *watched) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	if err := s.intercept("create", t); err != nil {
		return err
	}
	return s.Store.Create(ctx, t, tier)
}

func (s *watched) Tune(ctx context.Context, t grid.Table, tier store.Tier) error {
	if err := s.intercept("tune", t); err != nil {
		return err
	}
	return s.Store.Tune(ctx, t, tier)
}

func (s *watched) Retire(ctx context.Context, t grid.Table, at time.Time) error {
	if err := s.intercept("retire", t); err != nil {
		return err
	}
	return s.Store.Retire(ctx, t, at)
}

func (s *watched) Restore(ctx context.Context, t grid.Table) error {
	if err := s.intercept("restore", t); err != nil {
		return err
	}
	return s.Store.Restore(ctx, t)
}

func (s *watched) Drop(ctx context.Context, t grid.Table) error {
	if err := s.intercept("drop", t); err != nil {
		return err
	}
	return s.Store.Drop(ctx, t)
}

func (s *watched) DeleteExpired(ctx context.Context, t grid.Table, cutoff func(varve.Series) time.Time, inUse func(event time.Time) bool) (int64, error) {
	if err := s.intercept("expire", t); err != nil {
		return 0, err
	}
	return s.Store.DeleteExpired(ctx, t, cutoff, inUse)
}

func (s *watched) Write(ctx context.Context, batches []store.Batch) []store.Result {
	for _, b := range batches {
		if err := s.intercept("write", b.Table); err != nil {
			results := make([]store.Result, len(batches))
			for i := range results {
				results[i].Err = err
			}
			return results
		}
	}
	return s.Store.Write(ctx, batches)
}

func (s *watched) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	if err := s.intercept("read", r.Table); err != nil {
		return store.Page{}, err
	}
	return s.Store.Read(ctx, r, dst)
}

func (s *watched) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	if err := s.intercept("latest", l.Table); err != nil {
		return varve.Reading{}, false, store.Cost{}, err
	}
	return s.Store.Latest(ctx, l)
}

func (s *watched) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	if err := s.intercept("list", grid.Table{}); err != nil {
		return nil, err
	}
	return s.Store.Tables(ctx, f)
}

func (s *watched) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if err := s.intercept("put", grid.Table{}); err != nil {
		return err
	}
	return s.Store.Put(ctx, it, conds...)
}
