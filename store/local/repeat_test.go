package local

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

var repeatTable = func() grid.Table {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r, _ := grid.DefaultPolicy().Locate(at, grid.MonthOf(at))
	return grid.Table{Prefix: "t", Range: r, Month: grid.MonthOf(at)}
}()

func openRepeat(tb testing.TB, fs vfs.FS) *Store {
	tb.Helper()
	s, err := Open(Options{Dir: "data", FS: fs, MemtableBytes: MaxMemtableBytes, ChunkReadings: 8, Events: Events{
		Failed: func(what string, err error) { tb.Errorf("%s: %v", what, err) },
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// sent returns 20 readings with the same event time. The argument "ids" is the prefix of their ids. If it
// is empty, the readings have content ids.
func sent(tb testing.TB, ids string, value int64) (list []varve.Reading) {
	tb.Helper()
	for i := range 20 {
		r := varve.Reading{
			Series: varve.Series{Tenant: "a", Stream: "s", Device: "d"}, Time: repeatTable.Window().From, Arrived: repeatTable.Window().From,
			Fields: []varve.Field{{Name: "i", Value: varve.IntValue(int64(i))}, {Name: "v", Value: varve.IntValue(value)}},
		}
		if ids != "" {
			var err error
			if r.ID, err = varve.ParseID(fmt.Sprint(ids, i)); err != nil {
				tb.Fatal(err)
			}
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			tb.Fatal(v)
		}
		list = append(list, r)
	}
	return list
}

// expectAll writes readings and compares each verdict with the text "want". The text joins the outcome, the
// code and the stored values of the verdict. In the text, # stands for the index of the reading.
func expectAll(t *testing.T, s *Store, where string, list []varve.Reading, want string) {
	t.Helper()
	res := s.Write(t.Context(), []store.Batch{{Table: repeatTable, Readings: list}})[0]
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	for i, v := range res.Verdicts {
		if got := v.Outcome.String() + string(v.Code) + v.Stored; got != strings.ReplaceAll(want, "#", fmt.Sprint(i)) {
			t.Fatalf("%s: reading %d is %s %s, want %s", where, i, got, v, want)
		}
	}
}

// TestWrite_ComparesWithReadingsWhereverTheyAre checks the verdicts on resent readings, wherever the
// stored ones are: in the mutable or the immutable memtable, or in chunks of either level. A restart
// must not change a verdict.
func TestWrite_ComparesWithReadingsWhereverTheyAre(t *testing.T) {
	fs := vfs.NewMem()
	s := openRepeat(t, fs)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Create(t.Context(), repeatTable, store.Hot); err != nil {
		t.Fatal(err)
	}
	first, content := sent(t, "m", 1), sent(t, "", 1)
	expectAll(t, s, "new", first, "stored")
	expectAll(t, s, "new", content, "stored")
	check := func(where string) {
		t.Helper()
		expectAll(t, s, where, first, "duplicate")
		expectAll(t, s, where, content, "duplicate")
		expectAll(t, s, where, sent(t, "m", 2), `rejectedconflict{"i":#,"v":1}`)
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	inLevel0 := func() int {
		t.Helper()
		series, err := s.compactor.level0Series(s.mem.tables.byName[repeatTable])
		do(err)
		return len(series)
	}
	check("the mutable memtable")
	do(s.Close())
	s = openRepeat(t, fs)
	check("after a restart")
	expectAll(t, s, "new", sent(t, "n", 1), "stored")
	do(s.flusher.rotate())
	check("the immutable memtable")
	expectAll(t, s, "the immutable memtable", sent(t, "n", 2), `rejectedconflict{"i":#,"v":1}`)
	do(s.flusher.flush(t.Context()))
	if inLevel0() == 0 {
		t.Fatal("no series has chunks of level 0")
	}
	check("chunks of level 0")
	cold, err := s.compactor.beginTable(repeatTable)
	for do(err); len(cold.series) > 0; {
		do(s.compactor.compactNext(t.Context(), &cold))
	}
	if n := inLevel0(); n != 0 {
		t.Fatalf("%d series have chunks of level 0", n)
	}
	check("chunks of level 1")
	expectAll(t, s, "chunks of level 1", sent(t, "n", 2), `rejectedconflict{"i":#,"v":1}`)
}

// BenchmarkDuplicates resends stored readings that are in memory or in chunks.
func BenchmarkDuplicates(b *testing.B) {
	for _, ids := range []string{"", "m"} {
		for _, flushed := range []bool{false, true} {
			b.Run(fmt.Sprintf("ids=%q/flushed=%t", ids, flushed), func(b *testing.B) {
				s := openRepeat(b, vfs.NewMem())
				if err := s.Create(b.Context(), repeatTable, store.Hot); err != nil {
					b.Fatal(err)
				}
				batches := []store.Batch{{Table: repeatTable}}
				for i := range int64(250) {
					list := sent(b, ids, 1)
					for j := range list {
						list[j].Time = list[j].Time.Add(time.Duration(i) * time.Second)
					}
					batches[0].Readings = append(batches[0].Readings, list...)
				}
				if res := s.Write(b.Context(), batches); res[0].Err != nil {
					b.Fatal(res[0].Err)
				}
				if flushed {
					if err := s.flusher.flush(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					if res := s.Write(b.Context(), batches); res[0].Verdicts[7].Outcome != varve.Duplicate {
						b.Fatal(res[0])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batches[0].Readings)), "ns/reading")
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
