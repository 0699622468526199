package tablescan_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/store/tablescan"
)

var november = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func tableOf(t *testing.T, at, arrived time.Time) grid.Table {
	t.Helper()
	policy := grid.DefaultPolicy()
	r, ok := policy.Locate(at, grid.MonthOf(arrived))
	if !ok {
		t.Fatalf("no table for %s", at)
	}
	return grid.Table{Prefix: "varve", Range: r, Month: grid.MonthOf(arrived)}
}

// stores calls the function "do" with a store in memory, and with the embedded store. The function
// "reopen" closes and reopens the embedded store. Then all readings are in chunks.
func stores(t *testing.T, do func(t *testing.T, s store.Store, reopen func() store.Store)) {
	now := func() time.Time { return november.AddDate(0, 1, 0) }
	t.Run("mem", func(t *testing.T) {
		s := mem.New(now)
		do(t, s, func() store.Store { return s })
	})
	t.Run("local", func(t *testing.T) {
		dir := t.TempDir()
		open := func() *local.Store {
			s, err := local.Open(local.Options{Dir: dir, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open()
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		do(t, s, func() store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open()
			return s
		})
	})
}

// TestCountArrivals_CountsEachReadingOnce writes readings of several series on several days, some of
// them twice. Each reading must count once, before and after the readings are flushed to chunks.
func TestCountArrivals_CountsEachReadingOnce(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store, reopen func() store.Store) {
		ctx, table, want := t.Context(), tableOf(t, november, november), map[string]int64{}
		if err := s.Create(ctx, table, store.Hot); err != nil {
			t.Fatal(err)
		}
		var total int64
		for series := range 5 {
			var batch []varve.Reading
			for i := range 3000 {
				arrived := november.Add(time.Duration(i%7)*24*time.Hour + time.Duration(series)*5*time.Hour).Add(-time.Millisecond)
				if arrived.Before(november) {
					arrived = november
				}
				batch = append(batch, varve.Reading{
					Series: varve.Series{Tenant: "default", Stream: "weather", Device: fmt.Sprintf("d%d", series)}, Time: november.Add(time.Duration(i) * time.Minute),
					Arrived: arrived, Fields: []varve.Field{{Name: "v", Value: varve.BoolValue(i%2 == 0)}},
				})
				want[arrived.Format(time.DateOnly)]++
				total++
			}
			again := slices.Clone(batch)
			for i := range again {
				again[i].Arrived = again[i].Arrived.Add(time.Hour)
			}
			write(t, s, table, batch...)
			write(t, s, table, again[:300]...) // duplicates of stored readings must not count
		}
		for _, when := range []string{"before", "after"} {
			if got := counted(ctx, t, s, table); !maps.Equal(got, want) || len(got) < 7 {
				t.Errorf("%s the store was reopened: %v, want %v", when, got, want)
			}
			s = reopen()
		}
		infos, err := s.Tables(ctx, store.Filter{Prefixes: []string{"varve"}, Window: varve.AllTime(), Details: true})
		if err != nil || len(infos) != 1 || infos[0].Readings != total {
			t.Errorf("%v %+v, want %d readings", err, infos, total)
		}
	})
}

// write writes readings in one batch. It fails the test if one is rejected.
func write(t *testing.T, s store.Store, table grid.Table, readings ...varve.Reading) {
	t.Helper()
	for _, result := range s.Write(t.Context(), []store.Batch{{Table: table, Readings: readings}}) {
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		for _, v := range result.Verdicts {
			if v.Outcome == varve.Rejected {
				t.Fatalf("%+v", v)
			}
		}
	}
}

func counted(ctx context.Context, t *testing.T, s store.Store, table grid.Table) map[string]int64 {
	t.Helper()
	scanner := tablescan.Scanner{Source: s}
	days, _, err := scanner.CountArrivals(ctx, table)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for i, d := range days {
		if i > 0 && !d.Day.After(days[i-1].Day) {
			t.Errorf("the days are not in order: %v", days)
		}
		got[d.Day.Format(time.DateOnly)] = d.Readings
	}
	return got
}

// TestCountArrivals_FailsWithoutTable checks the error for a missing table. It also checks that pages
// are read through InTurn.
func TestCountArrivals_FailsWithoutTable(t *testing.T) {
	s, table := mem.New(time.Now), tableOf(t, november, november)
	scanner := tablescan.Scanner{Source: s}
	if _, _, err := scanner.CountArrivals(t.Context(), table); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("%v, want %v", err, store.ErrNoTable)
	}
	if err := s.Create(t.Context(), table, store.Hot); err != nil {
		t.Fatal(err)
	}
	write(t, s, table, varve.Reading{Series: varve.Series{Tenant: "default", Stream: "weather", Device: "d"}, Time: november, Arrived: november, Fields: []varve.Field{{Name: "v", Value: varve.BoolValue(true)}}})
	refused := errors.New("no turn")
	scanner.InTurn = func(context.Context, func() error) error { return refused }
	if _, _, err := scanner.CountArrivals(t.Context(), table); !errors.Is(err, refused) {
		t.Errorf("%v, want %v", err, refused)
	}
}
