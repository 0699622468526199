package router_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/router"
)

// TestRouter_RefusesTooManyRequests checks that a request above the limit fails with Busy and a delay. A
// request must succeed as soon as another one is done.
func TestRouter_RefusesTooManyRequests(t *testing.T) {
	w := newWorld(func(o *router.Options) { o.MaxRequests = 2 })
	var under []*router.Request
	for range 2 {
		q, err := w.Admit()
		if err != nil {
			t.Fatal(err)
		}
		under = append(under, q)
	}
	for range 3 {
		_, err := w.Admit()
		var e *varve.Error
		if !errors.As(err, &e) || e.Failure != varve.Busy || e.RetryAfter <= 0 {
			t.Fatalf("%v", err)
		}
	}
	under[0].Done()
	w.send(t, reading("weather", noon, 1))
	under[1].Done()
	w.send(t, reading("weather", noon, 2))
}

// bulk returns more readings than a small write can have.
func bulk(from int64) []varve.Reading {
	var list []varve.Reading
	for i := range int64(300) {
		list = append(list, reading("weather", noon, from+i))
	}
	return list
}

// TestRouter_WritesFreshReadingsBesideBulk checks that small writes can start while bulk writes
// wait. A waiting write must fail when its context ends.
func TestRouter_WritesFreshReadingsBesideBulk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(o *router.Options) { o.MaxReadings = 600 })
		w.send(t, reading("weather", noon, -1))
		gate := make(chan struct{})
		w.store.set(&w.store.write, func(grid.Table) error { <-gate; return nil })
		var wg sync.WaitGroup
		for i := range int64(3) { // the first write runs, and the other writes wait
			wg.Go(func() {
				for _, v := range w.send(t, bulk(1000*i)...) {
					if v.Outcome != varve.Stored {
						t.Error(v)
					}
				}
			})
		}
		synctest.Wait()
		if w.store.writes != 2+1 { // the first write of the test made two calls, because it created its table
			t.Errorf("%d writes are under way", w.store.writes-2)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		wg.Go(func() {
			q, err := w.Admit()
			if err != nil {
				t.Error(err)
				return
			}
			defer q.Done()
			if err := q.Write(ctx, bulk(5000), make([]varve.Verdict, 300)); !errors.Is(err, errDisk) {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel(errDisk)
		w.store.set(&w.store.write, nil)
		if got := words(w.send(t, reading("weather", noon, 7777))); got != "stored" {
			t.Error(got)
		}
		close(gate)
		wg.Wait()
		// All capacity for readings is free again, so the largest possible write succeeds.
		for _, v := range w.send(t, append(bulk(10_000), bulk(20_000)...)...) {
			if v.Outcome != varve.Stored {
				t.Fatal(v)
			}
		}
		w.expect(t, map[string]int{w.name("varve", noon, noon): 1 + 900 + 1 + 600})
	})
}

// TestRouter_WeighsReadingsBySize checks that a large reading needs as much room as several small
// ones. A write above the limit must run while no other large write does.
func TestRouter_WeighsReadingsBySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(o *router.Options) { o.MaxReadings = 600 })
		w.send(t, reading("weather", noon, -1))
		before := w.store.writes
		gate := make(chan struct{})
		w.store.set(&w.store.write, func(grid.Table) error { <-gate; return nil })
		var wg sync.WaitGroup
		for i := range int64(3) {
			wg.Go(func() {
				list := []varve.Reading{}
				for j := range 20 * (i + 1) { // each reading counts as 60 readings, because it has 60 KiB
					r := reading("weather", noon, 100*i+j)
					r.Fields = append(r.Fields, varve.Field{Name: "z", Value: varve.StringValue(strings.Repeat("z", 60<<10))})
					list = append(list, r)
				}
				for _, v := range w.send(t, list...) {
					if v.Outcome != varve.Stored {
						t.Error(v)
					}
				}
			})
		}
		synctest.Wait()
		if got := w.store.writes - before; got != 1 {
			t.Errorf("%d writes are under way", got)
		}
		close(gate)
		wg.Wait()
	})
}
