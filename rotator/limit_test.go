package rotator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// limitedWorld returns a world with several tables that are due to be dropped, and a rotator that drops
// one in each run. It also returns the table that is to be dropped first.
func limitedWorld(t *testing.T, o rotator.Options) (w *world, r *rotator.Rotator, first grid.Table) {
	t.Helper()
	w = runWorld(t)
	if _, err := w.rotator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(60 * day)
	if p, err := w.rotator.Run(t.Context()); err != nil || p.Counts()[rotator.Retire] < 3 {
		t.Fatalf("%v, %v; want at least three retirements", p.Counts(), err)
	}
	w.clock = w.clock.Add(20 * day)
	o.Catalog, o.Creator, o.Lifecycle, o.Items = w.store, w.store, w.store, w.store
	o.Policy, o.Now, o.Holder = w.policy, w.now, "limited"
	o.Policy.MaxDrops = 1
	r = rotator.New(o)
	all, err := w.rotator.Plan(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all.Actions {
		if a.Kind == rotator.Drop {
			return w, r, a.Table
		}
	}
	t.Fatal("no drop is due")
	return w, r, first
}

func dropsOf(p *rotator.Plan) (tables []grid.Table) {
	for _, a := range p.Actions {
		if a.Kind == rotator.Drop {
			tables = append(tables, a.Table)
		}
	}
	return tables
}

// TestPlan_LimitsOnlyPossibleDrops plans drops while one table is in use. That table must not use up the
// limit of drops.
func TestPlan_LimitsOnlyPossibleDrops(t *testing.T) {
	var used grid.Table
	_, r, first := limitedWorld(t, rotator.Options{
		TablesInUse: func(context.Context) (func(grid.Table, time.Time) string, error) {
			return func(t grid.Table, _ time.Time) string {
				if t == used {
					return "roll-ups need it"
				}
				return ""
			}, nil
		},
	})
	used = first
	p, err := r.Run(t.Context())
	if drops := dropsOf(&p); err != nil || len(drops) != 1 || drops[0] == first {
		t.Errorf("drops %v, %v; want one of another table than %v", drops, err, first)
	}
}

// TestRun_TriesOtherTablesAfterFailedDrop makes each drop of one table fail. The next runs must drop the
// other tables, and then retry the failed drop.
func TestRun_TriesOtherTablesAfterFailedDrop(t *testing.T) {
	w, r, first := limitedWorld(t, rotator.Options{})
	broken := errors.New("this table cannot be dropped")
	w.store.before = func(op string, t grid.Table) error {
		if op == "drop" && t == first {
			return broken
		}
		return nil
	}
	if p, err := r.Run(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("first run: drops %v, %v; want the error", dropsOf(&p), err)
	}
	for {
		p, err := r.Run(t.Context())
		drops := dropsOf(&p)
		if len(drops) != 1 {
			t.Fatalf("drops %v, %v; want one", drops, err)
		}
		if drops[0] == first {
			break
		}
		if err != nil {
			t.Fatalf("drop of %v: %v", drops, err)
		}
	}
	w.store.before = nil
	if p, err := r.Plan(t.Context(), time.Time{}); err != nil || len(dropsOf(&p)) != 1 || dropsOf(&p)[0] != first {
		t.Errorf("at the end: drops %v, %v; want only %v", dropsOf(&p), err, first)
	}
	for _, k := range w.tables() {
		if k.Month == first.Month && k.Table != first {
			t.Errorf("%v still exists", k.Table)
		}
	}
}

// completing is a store.Lifecycle with remains of interrupted drops, which it fails to remove.
type completing struct {
	store.Lifecycle
	calls int
}

var errRemains = errors.New("the remains cannot be removed")

func (c *completing) CompleteDrops(context.Context) error {
	c.calls++
	return errRemains
}

// TestRun_CompletesInterruptedDrops counts calls of CompleteDrops. A run must make one, and must report its
// failure. A plan must make none.
func TestRun_CompletesInterruptedDrops(t *testing.T) {
	w := runWorld(t)
	c := &completing{Lifecycle: w.store}
	r := rotator.New(rotator.Options{
		Catalog: w.store, Creator: w.store, Lifecycle: c, Items: w.store, Policy: w.policy, Now: w.now, Holder: "completing",
	})
	if _, err := r.Plan(t.Context(), time.Time{}); err != nil || c.calls != 0 {
		t.Errorf("plan: %d calls, %v; want none", c.calls, err)
	}
	p, err := r.Run(t.Context())
	if !errors.Is(err, errRemains) || c.calls != 1 || p.Counts()[rotator.Create] == 0 || len(w.tables()) == 0 {
		t.Errorf("run: %d calls, %v, %v; want one call, its error, and new tables", c.calls, p.Counts(), err)
	}
}
