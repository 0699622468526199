package query_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// TestRows_FailingTableEndsAnswer checks that every call of Next fails after one failed read of a
// table, and that the coverage names the table. The readings before the error must be correct.
func TestRows_FailingTableEndsAnswer(t *testing.T) {
	check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := drawQuery(t, w)
		want, _ := w.answer(q)
		left := rapid.IntRange(1, 6).Draw(t, "call")
		var failed []string
		w.store.before = func(_ context.Context, _ string, tb grid.Table) error {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			if left--; left == 0 {
				failed = append(failed, tb.Name())
				return errBroken
			}
			return nil
		}
		rows, err := w.engine.Open(context.Background(), q)
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer rows.Close()
		got, err := drain(context.Background(), rows)
		if left > 0 {
			if err != nil {
				t.Fatalf("%v", err)
			}
			same(t, got, want)
			return
		}
		if !errors.Is(err, errBroken) || !slices.Equal(rows.Coverage().Failed, failed) {
			t.Fatalf("%s failed: %v, %+v", failed, err, rows.Coverage())
		}
		same(t, got, want[:min(len(got), len(want))])
		if again, err := drain(context.Background(), rows); !errors.Is(err, errBroken) || len(again) > 0 {
			t.Fatalf("asked again: %d readings, %v", len(again), err)
		}
	})
}

// TestRows_ReportsAllFailures checks that the coverage lists all failed and all read tables if several
// tables are read at the same time.
func TestRows_ReportsAllFailures(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 4)
	for m := range 4 {
		w.put(t, retention.DefaultClass, reading("a", start.AddDate(0, -6, 0), start.AddDate(0, -m, 0), "", 1))
	}
	w.store.before = func(_ context.Context, _ string, tb grid.Table) error {
		if tb.Month%2 == 0 {
			return errBroken
		}
		return nil
	}
	rows, err := w.engine.Open(t.Context(), query.Query{Series: device("a"), Window: varve.AllTime()})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	_, err = drain(t.Context(), rows)
	if c := rows.Coverage(); !errors.Is(err, errBroken) || len(c.Failed) != 2 || len(c.Read) != 2 {
		t.Errorf("%v, %+v", err, c)
	}
}

type catalog struct{}

func (catalog) Tables(context.Context, store.Filter) ([]store.Info, error) { return nil, errBroken }

func TestOpen_FailsWithoutCatalog(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 1)
	e := query.New(query.Options{Reader: w.store, Catalog: catalog{}, Streams: w.streams, Policy: w.policy, Now: w.now})
	q := query.Query{Series: device("a"), Window: varve.AllTime()}
	if _, err := e.Open(t.Context(), q); !errors.Is(err, errBroken) {
		t.Errorf("open: %v", err)
	}
	if _, err := e.Explain(t.Context(), q); !errors.Is(err, errBroken) {
		t.Errorf("explain: %v", err)
	}
	if _, err := e.Latest(t.Context(), query.LatestQuery{Series: device("a")}); !errors.Is(err, errBroken) {
		t.Errorf("latest: %v", err)
	}
}

// TestRows_EndWithContext queries tables that never answer. The query must end at its deadline with
// the context's error, and leave no goroutine in the bubble of synctest.
func TestRows_EndWithContext(t *testing.T) {
	ask := map[string]func(ctx context.Context, e *query.Engine) error{
		"rows": func(ctx context.Context, e *query.Engine) error {
			rows, err := e.Open(ctx, query.Query{Series: device("a"), Window: varve.AllTime()})
			if err != nil {
				return err
			}
			defer rows.Close()
			_, err = drain(ctx, rows)
			return err
		},
		"latest": func(ctx context.Context, e *query.Engine) error {
			_, err := e.Latest(ctx, query.LatestQuery{Series: device("a"), By: varve.ByArrival})
			return err
		},
		"latest of many": func(ctx context.Context, e *query.Engine) error {
			_, err := e.LatestOf(ctx, query.LatestQuery{Series: device("")}, []string{"a", "b", "a", "b", "a", "b"})
			return err
		},
		"explain": func(ctx context.Context, e *query.Engine) error {
			_, err := e.Explain(ctx, query.Query{Series: device("a"), Window: varve.AllTime()})
			return err
		},
	}
	for name, do := range ask {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 500*day, retention.Forever, 4)
				for m := range 6 {
					at := start.AddDate(0, -m, 0)
					w.put(t, retention.DefaultClass, reading("a", at, at, "", 1))
				}
				w.store.before = func(ctx context.Context, _ string, _ grid.Table) error {
					<-ctx.Done()
					return ctx.Err()
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begin := time.Now()
				err := do(ctx, w.engine)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
					t.Errorf("after %s: %v", time.Since(begin), err)
				}
			})
		})
	}
}

// TestValidate_NamesParameter checks that an invalid query is refused with the name of the
// parameter, before anything is read.
func TestValidate_NamesParameter(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 1)
	good := query.Query{Series: device("a"), Window: varve.AllTime()}
	for param, spoil := range map[string]func(q *query.Query){
		"device": func(q *query.Query) { q.Series.Device = "" },
		"stream": func(q *query.Query) { q.Series.Stream = "a/b" },
		"to":     func(q *query.Query) { q.Window.To = q.Window.From.Add(-1) },
		"limit":  func(q *query.Query) { q.Limit = -1 },
	} {
		q := good
		spoil(&q)
		_, opened := w.engine.Open(t.Context(), q)
		_, explained := w.engine.Explain(t.Context(), q)
		for _, err := range []error{opened, explained} {
			var e *varve.Error
			if !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param != param {
				t.Errorf("%s: %v", param, err)
			}
		}
	}
	if _, err := w.engine.Latest(t.Context(), query.LatestQuery{}); varve.FailureOf(err) != varve.Invalid {
		t.Errorf("latest of nothing: %v", err)
	}
	if len(w.store.filters) > 0 || len(w.store.reads) > 0 {
		t.Error("something was read")
	}
}
