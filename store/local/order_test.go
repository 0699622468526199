package local_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestRead_ReturnsAnyArrivalInOrder checks that readings are returned in order after any order
// of arrival, also with equal event times, and page by page.
func TestRead_ReturnsAnyArrivalInOrder(t *testing.T) {
	const n = 5000
	tb := week(t, 0)
	rng := rand.New(rand.NewPCG(1, 1))
	same := readings(t, tb, "same", n)
	for i := range same {
		same[i].Time, same[i].ID = tb.Window().From.Add(time.Hour), varve.ID{}
		if v := same[i].Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
	}
	orders := map[string][]varve.Reading{
		"descending": readings(t, tb, "descending", n),
		"shuffled":   readings(t, tb, "shuffled", n),
		"same":       same,
	}
	slices.Reverse(orders["descending"])
	shuffled := orders["shuffled"]
	rng.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	s := open(t, local.Options{FS: vfs.NewMem()})
	create(t, s, tb)
	for name, list := range orders {
		for part := range slices.Chunk(list, 700) {
			write(t, s, tb, part, varve.Stored)
		}
		write(t, s, tb, list[:700], varve.Duplicate)
		want := slices.Clone(list)
		slices.SortFunc(want, func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
		got := all(t, s, tb, name)
		if len(got) != n {
			t.Fatalf("%s: %d readings, want %d", name, len(got), n)
		}
		for i := range got {
			if got[i].Position() != want[i].Position() {
				t.Fatalf("%s: reading %d is at %v, want %v", name, i, got[i].Position(), want[i].Position())
			}
		}
	}
}

var benchTable = func() grid.Table {
	month := grid.MonthOf(arrived)
	r, _ := grid.DefaultPolicy().Locate(arrived, month)
	return grid.Table{Prefix: "t", Range: r, Month: month}
}()

func ordered(b *testing.B, order string, n int) []varve.Reading {
	b.Helper()
	list := make([]varve.Reading, n)
	for i := range list {
		at := benchTable.Window().From.Add(time.Duration(i) * time.Second)
		if order == "same" {
			at = benchTable.Window().From
		}
		list[i] = varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "d"}, Time: at, Arrived: arrived,
			Fields: []varve.Field{{Name: "n", Value: varve.IntValue(int64(i))}},
		}
		if v := list[i].Normalize(); v.Outcome == varve.Rejected {
			b.Fatal(v)
		}
	}
	switch order {
	case "descending":
		slices.Reverse(list)
	case "shuffled":
		rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

func writeBench(b *testing.B, s *local.Store, part []varve.Reading) {
	b.Helper()
	result := s.Write(b.Context(), []store.Batch{{Table: benchTable, Readings: part}})[0]
	if result.Err != nil {
		b.Fatal(result.Err)
	}
}

// BenchmarkOrder writes 100,000 readings of a device in batches of 5,000, in several orders.
func BenchmarkOrder(b *testing.B) {
	for _, order := range []string{"ascending", "descending", "shuffled", "same"} {
		b.Run(order, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				list := ordered(b, order, 100_000)
				s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem()})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Create(b.Context(), benchTable, 1); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				for part := range slices.Chunk(list, 5000) {
					writeBench(b, s, part)
				}
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
