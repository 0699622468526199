package rotator_test

import (
	"context"
	"errors"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRun_DropsNoTableInUse checks that a plan skips a table that is in use, with the reason. If
// the tables in use are unknown, a run must not drop any table, but must apply all other actions.
func TestRun_DropsNoTableInUse(t *testing.T) {
	w := runWorld(t)
	if _, err := w.rotator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := len(w.tables())
	first := w.tables()[0].Table
	w.clock = w.clock.Add(60 * day)
	if p, err := w.rotator.Run(t.Context()); err != nil || p.Counts()[rotator.Retire] < 2 {
		t.Fatalf("%v, %v", p.Counts(), err)
	}
	w.clock = w.clock.Add(20 * day)
	unsure, asked := errors.New("the registry is away"), 0
	r := rotator.New(rotator.Options{
		Catalog: w.store, Creator: w.store, Lifecycle: w.store, Items: w.store, Policy: w.policy, Now: w.now, Holder: "needing",
		TablesInUse: func(context.Context) (func(grid.Table, time.Time) string, error) {
			asked++
			return func(t grid.Table, _ time.Time) string {
				if t == first {
					return "roll-ups need it"
				}
				return ""
			}, unsure
		},
	})
	p, err := r.Run(t.Context())
	if !errors.Is(err, unsure) || p.Counts()[rotator.Drop] != 0 || p.Counts()[rotator.Create] == 0 || len(w.tables()) <= before {
		t.Errorf("without knowing: %v, %d tables, %v", p.Counts(), len(w.tables()), err)
	}
	unsure = nil
	p, err = r.Plan(t.Context(), time.Time{})
	if err != nil || p.Counts()[rotator.Drop] == 0 {
		t.Fatalf("%v, %v", p.Counts(), err)
	}
	for _, a := range p.Actions {
		if a.Table == first {
			t.Errorf("%s is planned for a table in use", a.Kind)
		}
	}
	if !slices.ContainsFunc(p.Skipped, func(k rotator.Skipped) bool {
		return k.Table == first && strings.Contains(k.Reason, "roll-ups need it")
	}) {
		t.Errorf("the plan skips %+v, want %v with its reason", p.Skipped, first)
	}
	if _, err = r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkOnlyTableOfMonth(t, w, first)
	asked = 0
	if _, err = r.Plan(t.Context(), w.clock.Add(day)); err != nil || asked != 0 {
		t.Errorf("a plan for tomorrow asked %d times for the tables in use now, want 0: %v", asked, err)
	}
}

func checkOnlyTableOfMonth(t *testing.T, w *world, table grid.Table) {
	t.Helper()
	n := 0
	for _, in := range w.tables() {
		if in.Month == table.Month {
			n++
		}
	}
	if n != 1 || w.tables()[0].Table != table {
		t.Errorf("%d tables of the month of %v exist, want only this one", n, table)
	}
}
