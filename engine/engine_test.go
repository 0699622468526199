package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// The tests run in synctest bubbles. Time is fake and begins on 1 January 2000, and a goroutine
// that outlives its test makes the test fail.

// watched is a store with a hook for the creation of tables. It counts calls of Close.
type watched struct {
	*mem.Store
	create atomic.Pointer[func() error]
	closed atomic.Int32
}

// onCreate sets the hook. If the argument is nil, it removes the hook.
func (s *watched) onCreate(hook func() error) {
	if hook == nil {
		s.create.Store(nil)
		return
	}
	s.create.Store(&hook)
}

func (s *watched) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	if hook := s.create.Load(); hook != nil {
		if err := (*hook)(); err != nil {
			return err
		}
	}
	return s.Store.Create(ctx, t, tier)
}

func (s *watched) Close() error {
	s.closed.Add(1)
	return s.Store.Close()
}

type log struct {
	mu    sync.Mutex
	ends  []time.Time
	errs  []error
	steps int
}

func (l *log) events() engine.Events {
	return engine.Events{Rotator: rotator.Events{
		Applied: func(rotator.Action, time.Duration, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.steps++
		},
		Finished: func(_ *rotator.Plan, _ time.Duration, err error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.ends, l.errs = append(l.ends, time.Now()), append(l.errs, err)
		},
	}}
}

func (l *log) recorded() (ends []time.Time, errs []error, steps int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ends), slices.Clone(l.errs), l.steps
}

func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func rotation(change func(p *rotator.Policy)) *rotator.Policy {
	p := engine.DefaultRotation()
	change(p)
	return p
}

func open(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestOpen_CreatesTablesAndServes checks that an open engine has the tables of this month and the
// next, stores readings and answers queries. A closed engine leaves no goroutine.
func TestOpen_CreatesTablesAndServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: mem.New(nil)}
		e := open(t, engine.Options{Store: s})
		if h := e.Rotator.Health(); h.Ahead.Existing == 0 || h.Ahead.Existing != h.Ahead.Wanted || h.Tables <= h.Ahead.Wanted || h.LastSuccess.IsZero() {
			t.Errorf("health %+v", h)
		}
		req, err := e.Router.Admit()
		if err != nil {
			t.Fatal(err)
		}
		series := varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}
		readings := []varve.Reading{{Series: series, Time: e.Now(), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}}}}
		verdicts := make([]varve.Verdict, 1)
		if err := req.Write(t.Context(), readings, verdicts); err != nil || verdicts[0].Outcome != varve.Stored {
			t.Fatalf("%v %s", err, verdicts[0])
		}
		req.Done()
		a, err := e.Query.Latest(t.Context(), query.LatestQuery{Series: series, Consistent: true})
		if err != nil || !a.Found || !a.Reading.Equal(&readings[0]) {
			t.Errorf("%v %+v", err, a)
		}
		if list, err := e.Streams.List(t.Context(), varve.DefaultTenant); err != nil || len(list) != 1 {
			t.Errorf("streams %v %v", list, err)
		}
		for range 3 { // repeated calls are harmless
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := s.closed.Load(); n != 1 {
			t.Errorf("the store was closed %d times", n)
		}
		if _, err := e.Rotator.Run(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a run after Close: %v", err)
		}
	})
}

// TestSchedule_RunsRotator checks that the rotator runs once in Open, then on the schedule in
// UTC, until Close.
func TestSchedule_RunsRotator(t *testing.T) {
	for _, c := range []struct {
		schedule string
		wait     time.Duration
		want     string // hours and minutes of the runs
	}{
		{"", 3 * time.Hour, "00:10 01:00 02:00 03:00"},
		{"@every 90m", 4 * time.Hour, "00:10 01:40 03:10"},
		{"30 2 * * *", 26 * time.Hour, "00:10 02:30"},
	} {
		synctest.Test(t, func(t *testing.T) {
			wait(10 * time.Minute)
			var l log
			e := open(t, engine.Options{Store: mem.New(nil), Schedule: c.schedule, Events: l.events()})
			wait(c.wait)
			var got []string
			ends, _, _ := l.recorded()
			for _, at := range ends {
				got = append(got, at.UTC().Format("15:04"))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%q: ran at %s, want %s", c.schedule, s, c.want)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			wait(48 * time.Hour)
			if after, _, _ := l.recorded(); len(after) != len(ends) {
				t.Errorf("%q: %d runs after Close", c.schedule, len(after)-len(ends))
			}
		})
	}
}

// TestEngine_CreatesTablesAhead runs an engine for three months. The tables of the next month must
// exist at all times.
func TestEngine_CreatesTablesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, engine.Options{Store: mem.New(nil)})
		for range 90 {
			wait(24 * time.Hour)
			if p, err := e.Rotator.Plan(t.Context(), time.Time{}); err != nil || p.Ahead.Existing != p.Ahead.Wanted || p.Ahead.Wanted == 0 || p.Counts()[rotator.Create] > 0 {
				t.Fatalf("%s: %d of %d ready, %v", time.Now(), p.Ahead.Existing, p.Ahead.Wanted, err)
			}
		}
	})
}

// TestOpen_ReportsAllInvalidOptions checks that all mistakes are reported together, and that the
// store is closed.
func TestOpen_ReportsAllInvalidOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: mem.New(nil)}
		_, err := engine.Open(t.Context(), engine.Options{
			Store: s, Schedule: "now and then", Rotation: rotation(func(p *rotator.Policy) { p.Grace, p.Grid.Recent = -1, -1 }),
		})
		for _, want := range []string{"now and then", "grace", "recent"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("nothing is told of %s: %v", want, err)
			}
		}
		if s.closed.Load() != 1 {
			t.Errorf("the store was closed %d times", s.closed.Load())
		}
	})
}
