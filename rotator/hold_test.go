package rotator_test

import (
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"slices"
	"testing"
	"time"
)

// TestRun_SkipsTableHeldMeanwhile puts a table on hold during a run. The run must not retire or
// drop the table. It must succeed and list the table as skipped.
func TestRun_SkipsTableHeldMeanwhile(t *testing.T) {
	for _, kind := range []rotator.Kind{rotator.Retire, rotator.Drop} {
		t.Run(kind.String(), func(t *testing.T) {
			w := runWorld(t)
			mustRun(t, w.rotator)
			w.clock = w.clock.AddDate(0, 3, 0)
			if kind == rotator.Drop {
				mustRun(t, w.rotator)
				w.clock = w.clock.AddDate(0, 0, 8)
			}
			var told []grid.Table
			r := w.another("me", rotator.Events{Applied: func(a rotator.Action, _ time.Duration, err error) {
				if told = append(told, a.Table); err != nil {
					t.Errorf("%s %s: %v", a.Kind, a.Table, err)
				}
			}})
			var held grid.Table
			w.store.before = func(op string, tb grid.Table) error {
				if op != kind.String() || held != (grid.Table{}) {
					return nil
				}
				held = tb
				return w.mem.Hold(t.Context(), tb, "case 17")
			}
			p := mustRun(t, r)
			if held == (grid.Table{}) || p.Counts()[kind] == 0 || slices.Contains(told, held) {
				t.Fatalf("%d tables, but %s: %v", p.Counts()[kind], held, told)
			}
			kept := slices.IndexFunc(p.Skipped, func(k rotator.Skipped) bool { return k.Table == held })
			if kept < 0 || p.Skipped[kept].Reason != "it is on hold: case 17" {
				t.Errorf("kept: %+v", p.Skipped)
			}
			if slices.ContainsFunc(p.Actions, func(a rotator.Action) bool { return a.Table == held }) {
				t.Errorf("the plan carried out has it: %+v", p.Actions)
			}
			w.checkHeld(held, kind == rotator.Drop)
			if h := r.Health(); h.LastError != "" || h.LastSuccess.IsZero() || h.Tables != len(w.tables()) {
				t.Errorf("health %+v, %d tables", h, len(w.tables()))
			}
		})
	}
}

func (w *world) checkHeld(tb grid.Table, retired bool) {
	w.t.Helper()
	for _, in := range w.tables() {
		if in.Table == tb {
			if in.Hold == "" || in.Retired.IsZero() == retired {
				w.t.Errorf("%+v", in)
			}
			return
		}
	}
	w.t.Errorf("%s is gone", tb)
}
