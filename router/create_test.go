package router_test

import (
	"context"
	"errors"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/router"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRouter_CreatesMissingTableOnce checks that a table is created once if many writers find it
// missing at the same time. All writers must succeed.
func TestRouter_CreatesMissingTableOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events int
		w := newWorld(func(o *router.Options) {
			o.Events.TableCreated = func(grid.Table, time.Duration) { events++ }
		})
		gate := make(chan struct{})
		w.store.set(&w.store.create, func(grid.Table) error { <-gate; return nil })
		const writers = 50
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				if got := words(w.send(t, reading("weather", noon, int64(i)), reading("weather", longAgo, int64(i)))); got != "stored stored" {
					t.Errorf("writer %d: %s", i, got)
				}
			})
		}
		synctest.Wait() // all writers wait for a table
		for range 2 {
			gate <- struct{}{}
			synctest.Wait()
		}
		wg.Wait()
		w.expect(t, map[string]int{w.name("varve", noon, noon): writers, w.name("varve", longAgo, noon): writers})
		for name, n := range w.store.created {
			if n != 1 {
				t.Errorf("%s was made %d times", name, n)
			}
		}
		if events != 2 {
			t.Errorf("%d events", events)
		}
	})
}

// TestRouter_RejectsReadingsOfTableThatCannotBeCreated makes the creation of one table fail. Only
// the readings of this table must be rejected, with a retryable code. The next request must try to
// create the table once more.
func TestRouter_RejectsReadingsOfTableThatCannotBeCreated(t *testing.T) {
	w := newWorld()
	bad := w.name("varve", longAgo, noon)
	w.store.set(&w.store.create, func(t grid.Table) error {
		if t.Name() == bad {
			return errDisk
		}
		return nil
	})
	send := func() string {
		return words(w.send(t, reading("weather", longAgo, 1), reading("weather", noon, 1), reading("weather", longAgo, 2)))
	}
	if got := send(); got != "unavailable stored unavailable" {
		t.Error(got)
	}
	w.store.set(&w.store.create, nil)
	if got := send(); got != "stored duplicate stored" {
		t.Error(got)
	}
}

// TestRouter_CreatesTableAfterFirstWriterCancels checks that a canceled writer does not cancel a
// creation for which other writers wait.
func TestRouter_CreatesTableAfterFirstWriterCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		gate := make(chan struct{})
		w.store.set(&w.store.create, func(grid.Table) error { <-gate; return nil })
		ctx, cancel := context.WithCancelCause(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			q, err := w.Admit()
			if err != nil {
				t.Error(err)
				return
			}
			defer q.Done()
			if err := q.Write(ctx, []varve.Reading{reading("weather", noon, 1)}, make([]varve.Verdict, 1)); !errors.Is(err, errDisk) {
				t.Error(err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if got := words(w.send(t, reading("weather", noon, 2))); got != "stored" {
				t.Error(got)
			}
		})
		synctest.Wait()
		cancel(errDisk)
		synctest.Wait() // the first writer has returned
		close(gate)
		wg.Wait()
		w.expect(t, map[string]int{w.name("varve", noon, noon): 1})
	})
}
