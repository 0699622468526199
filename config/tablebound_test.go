package config_test

import (
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"slices"
	"testing"
	"time"
)

// TestBound_IgnoresUnlimitedClass checks that a class with unlimited retention does not hide the
// bound of the other classes.
func TestBound_IgnoresUnlimitedClass(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := config.Default()
	if _, ok := c.Bound(now, day); ok {
		t.Error("tables that are not dropped have a bound")
	}
	c.Retention.Drop = true
	alone, ok := c.Bound(now, day)
	if want, _ := c.Rotation().Bound(now, day); !ok || alone.Tables != want || want == 0 || alone.Classes != 1 || alone.Forever != nil {
		t.Errorf("%+v, want %d tables", alone, want)
	}
	c.Tables.MonthsAhead = 2
	further, ok := c.Bound(now, day)
	largest := 0
	for m := grid.MonthOf(now); m < grid.MonthOf(now)+120; m++ {
		largest = max(largest, len(c.Grid().Ranges(m)))
	}
	if want := alone.Tables + largest; !ok || further.Tables != want {
		t.Errorf("with two months ahead %+v, want %d tables", further, want)
	}
	c.Tables.MonthsAhead = 1
	c.Classes["audit"] = config.Class{Retention: retention.Forever}
	b, ok := c.Bound(now, day)
	if !ok || b.Tables != alone.Tables || b.Classes != 1 || !slices.Equal(b.Forever, []string{"audit"}) {
		t.Errorf("%+v, want %d tables", b, alone.Tables)
	}
	if len(c.Policy().Classes) != 2 {
		t.Error("the configuration was changed")
	}
}

// TestBound_IncludesRecountGrace checks that RecountGrace is the three days for which roll-ups need
// retired tables, even if the grace is shorter.
func TestBound_IncludesRecountGrace(t *testing.T) {
	c := config.Default()
	c.Retention.Drop, c.Retention.Grace = true, time.Hour
	with := c.Rotation()
	c.Rollups.Enabled = false
	without := c.Rotation()
	if with.RecountGrace != 3*day || without.RecountGrace != 0 {
		t.Errorf("counting takes %s with roll-ups, %s without", with.RecountGrace, without.RecountGrace)
	}
}
