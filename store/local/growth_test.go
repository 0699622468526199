package local

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// openWithTable opens a store in memory, and creates a table for the returned event time.
func openWithTable(t *testing.T, o Options) (*Store, grid.Table, time.Time) {
	t.Helper()
	o.Dir, o.MinFree = "data", -1
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	month := grid.MonthOf(at)
	cell, ok := grid.DefaultPolicy().Locate(at, month)
	if !ok {
		t.Fatal("no table for this time")
	}
	table := grid.Table{Prefix: "t", Range: cell, Month: month}
	if err := s.Create(t.Context(), table, store.Hot); err != nil {
		t.Fatal(err)
	}
	return s, table, at
}

// put writes readings. All of them must have the same outcome.
func put(t *testing.T, s *Store, table grid.Table, list []varve.Reading, want varve.Outcome) {
	t.Helper()
	result := s.Write(t.Context(), []store.Batch{{Table: table, Readings: list}})[0]
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	for _, v := range result.Verdicts {
		if v.Outcome != want {
			t.Fatalf("%v, want %v", v, want)
		}
	}
}

// TestClose_BesideSeries closes stores while other goroutines list series. Close must return.
func TestClose_BesideSeries(t *testing.T) {
	for round := range 20 {
		s, table, at := openWithTable(t, Options{FS: vfs.NewMem()})
		put(t, s, table, []varve.Reading{readingOf(7, at)}, varve.Stored)
		var readers sync.WaitGroup
		running := make(chan struct{}, 8)
		for range cap(running) {
			readers.Go(func() {
				running <- struct{}{}
				for {
					if _, err := s.Series(t.Context(), store.SeriesQuery{Table: table, After: "chunks"}); err != nil {
						return
					}
				}
			})
		}
		for range cap(running) {
			<-running
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		select {
		case err := <-closed:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("round %d: Close hangs", round)
		}
		readers.Wait()
	}
}

// TestLatest_EvictsSeriesBuffers reads the latest reading of many series after a restart. The series buffers
// that cache these readings must not grow without limit.
func TestLatest_EvictsSeriesBuffers(t *testing.T) {
	const devices = 10_000
	o := Options{FS: vfs.NewMem(), MemtableBytes: 64 << 10, ChunkReadings: 4}
	s, table, at := openWithTable(t, o)
	for from := 0; from < devices; from += 500 {
		list := make([]varve.Reading, 500)
		for i := range list {
			list[i] = readingOf(from+i, at)
		}
		put(t, s, table, list, varve.Stored)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.Dir, o.MinFree = "data", -1
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range devices {
		l := store.Latest{Table: table, Series: readingOf(i, at).Series, Cutoff: at.Add(-time.Hour)}
		if _, found, _, err := s.Latest(t.Context(), l); !found || err != nil {
			t.Fatal(found, err)
		}
	}
	most := 2*int(s.mem.idleLimit()) + devices/10
	if counted, exist := awaitEviction(s, most); counted > most || counted != exist {
		t.Errorf("%d series buffers are counted, and %d exist, want at most %d", counted, exist, most)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// variedReadings returns readings that have 20 of 60 fields each. Nearly all have different fields.
func variedReadings(t *testing.T, at time.Time, n int) []varve.Reading {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([]varve.Reading, n)
	for i := range list {
		r := varve.Reading{Series: readingOf(i%50, at).Series, Time: at.Add(time.Duration(i) * time.Second), Arrived: at}
		for _, f := range rng.Perm(60)[:20] {
			r.Fields = append(r.Fields, varve.Field{Name: fmt.Sprintf("plant/line/cell/motor/%04d", f), Value: varve.IntValue(int64(f))})
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		list[i] = r
	}
	return list
}

// TestMemtable_CountsFieldNames writes readings with ever different fields. The memory of their names
// must be counted, so that it is bounded. Duplicates must add no names, because duplicates never cause
// a flush.
func TestMemtable_CountsFieldNames(t *testing.T) {
	const n, names = 2000, 20 * 26 // bytes of the names of a reading
	s, table, at := openWithTable(t, Options{FS: vfs.NewMem()})
	put(t, s, table, variedReadings(t, at, n), varve.Stored)
	if counted := s.mem.mutable.Bytes() / n; counted < 2*names {
		t.Errorf("%d bytes are counted for a reading, want at least %d", counted, 2*names)
	}
	if err := s.flusher.runExclusive(t.Context(), func() error { return s.flusher.flush(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	put(t, s, table, variedReadings(t, at, n), varve.Duplicate)
	if s.mem.mutable.Bytes() != 0 {
		t.Errorf("duplicates add %d bytes", s.mem.mutable.Bytes())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
