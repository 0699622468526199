package engine_test

import (
	"testing"
	"testing/synctest"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// TestOpen_CreatesTablesOfMonthsAhead checks that the setting tables.months_ahead decides for
// which arrival months tables exist after the start.
func TestOpen_CreatesTablesOfMonthsAhead(t *testing.T) {
	for _, ahead := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			c := config.Default()
			c.Tables.MonthsAhead = ahead
			policy := c.Rotation()
			e := open(t, engine.Options{Store: mem.New(nil), Rotation: &policy})
			infos, err := e.Store.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime()})
			if err != nil {
				t.Fatal(err)
			}
			tables := map[grid.Month]int{}
			for _, in := range infos {
				tables[in.Month]++
			}
			this := grid.MonthOf(e.Now())
			for m := this - 1; m <= this+6; m++ {
				want := 0
				if m >= this && m <= this+grid.Month(ahead) {
					want = len(policy.Grid.Ranges(m))
				}
				if tables[m] != want {
					t.Errorf("%d months ahead: %d tables of %s, want %d", ahead, tables[m], m, want)
				}
			}
		})
	}
}
