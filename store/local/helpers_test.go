package local_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

var arrived = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// week returns the table of the week that is the given number of weeks before the time in the variable
// "arrived".
func week(t *testing.T, back int) grid.Table {
	t.Helper()
	month := grid.MonthOf(arrived)
	r, ok := grid.DefaultPolicy().Locate(arrived.AddDate(0, 0, -7*back), month)
	if !ok {
		t.Fatal("no table for this week")
	}
	return grid.Table{Prefix: "t", Range: r, Month: month}
}

// readings returns n readings of a device, one per second from the beginning of a table's range.
func readings(t *testing.T, in grid.Table, device string, n int) []varve.Reading {
	t.Helper()
	list := make([]varve.Reading, n)
	for i := range list {
		list[i] = varve.Reading{
			Series:  varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: device},
			Time:    in.Window().From.Add(time.Duration(i) * time.Second),
			Arrived: arrived,
			Fields:  []varve.Field{{Name: "n", Value: varve.IntValue(int64(i))}},
		}
		if v := list[i].Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
	}
	return list
}

// small returns options with chunks and data blocks of an eighth of the usual size, so that a small
// store has many of both. Pebble searches a damaged data block for a flipped bit in quadratic time.
// With data blocks of the usual size, that would take seconds.
func small(o local.Options) local.Options {
	o.MinFree = -1
	o.ChunkReadings = 128
	return o.WithBlockBytes(4 << 10)
}

// write writes readings to a table, and expects the same outcome for all of them.
func write(t *testing.T, s *local.Store, in grid.Table, list []varve.Reading, want varve.Outcome) {
	t.Helper()
	result := s.Write(t.Context(), []store.Batch{{Table: in, Readings: list}})[0]
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	for i, v := range result.Verdicts {
		if v.Outcome != want {
			t.Fatalf("reading %d is %v, want %v", i, v, want)
		}
	}
}

func all(t *testing.T, s *local.Store, in grid.Table, device string) []varve.Reading {
	t.Helper()
	list, err := readAll(t, s, in, device)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func readAll(t *testing.T, s *local.Store, in grid.Table, device string) (list []varve.Reading, err error) {
	t.Helper()
	r := store.Range{
		Table: in, Window: in.Window(), Order: varve.Ascending, Consistent: true,
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: device},
	}
	for {
		page, err := readBoth(t.Context(), s, r, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Readings...)
		if !page.More {
			return list, nil
		}
		at := list[len(list)-1].Position()
		r.After = &at
	}
}

func create(t *testing.T, s *local.Store, tables ...grid.Table) {
	t.Helper()
	for _, tb := range tables {
		if err := s.Create(t.Context(), tb, store.Hot); err != nil {
			t.Fatal(err)
		}
	}
}

// eventually checks a condition repeatedly until it is true. After about two minutes, it fails the test.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 24_000 { // two minutes, for a very busy machine
		if is() {
			return
		}
		<-tick.C
	}
	t.Fatal("never: " + what)
}

func device(i int) string { return fmt.Sprintf("d%d", i) }
