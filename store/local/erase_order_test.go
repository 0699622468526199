package local_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// sameTime returns n readings of one event time, followed by the given number of later readings.
// All but the first ten arrived after the time in the variable "arrived", so erasureOf covers only the first
// ten.
func sameTime(t *testing.T, e *expiring, n, later int) []varve.Reading {
	t.Helper()
	at := e.table.Window().From.Add(time.Hour)
	list := readings(t, e.table, "d", n+later)
	for i := range list {
		list[i].Time, list[i].ID = at, varve.ID{}
		if i >= n {
			list[i].Time = at.Add(time.Duration(i) * time.Second)
		}
		if v := list[i].Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
	}
	slices.SortFunc(list, func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
	for i := range list[10:] {
		list[10+i].Arrived = arrived.Add(time.Hour)
	}
	return list
}

// eraseTen stores the readings of sameTime in several chunks of level 1, and erases the first ten.
func eraseTen(t *testing.T, n, later int) (e *expiring, list []varve.Reading) {
	t.Helper()
	opts := local.Options{Dir: "data", FS: vfs.NewMem(), MinFree: -1, ChunkReadings: 20}
	e = &expiring{T: t, Store: open(t, opts), table: week(t, 0)}
	create(t, e.Store, e.table)
	list = sameTime(t, e, n, later)
	write(t, e.Store, e.table, list, varve.Stored)
	e.close() // flushes the readings
	e.Store = open(t, opts)
	if n, err := e.Erase(t.Context(), erasureOf(e, "d")); n != 10 || err != nil {
		t.Fatalf("%d of 10 readings were erased: %v", n, err)
	}
	return e, list
}

// TestErase_KeepsOrderOfChunks erases readings of the first of several chunks with one event time. Pages
// must return the others once and in order.
func TestErase_KeepsOrderOfChunks(t *testing.T) {
	e, list := eraseTen(t, 200, 0)
	defer e.close()
	r := store.Range{Table: e.table, Series: list[0].Series, Window: varve.AllTime(), Limit: 50}
	var got []varve.Reading
	for more := true; more; {
		p, err := e.Read(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.Readings...)
		last := got[len(got)-1].Position()
		r.After, more = &last, p.More
	}
	if !slices.EqualFunc(got, list[10:], equal) {
		t.Errorf("pages have %d readings, want the other 190 in order", len(got))
	}
}

// TestErase_KeepsLaterReadings erases readings before a chunk that begins at their event time and ends
// later. Resent later readings must be duplicates, and a window after that time must have them.
func TestErase_KeepsLaterReadings(t *testing.T) {
	e, list := eraseTen(t, 165, 5)
	defer e.close()
	write(t, e.Store, e.table, list[165:], varve.Duplicate)
	window := varve.Window{From: list[0].Time.Add(time.Second), To: e.table.Window().To}
	p, err := e.Read(t.Context(), store.Range{Table: e.table, Series: list[0].Series, Window: window}, nil)
	if len(p.Readings) != 5 || err != nil {
		t.Errorf("%d readings after the common time, want 5: %v", len(p.Readings), err)
	}
}
