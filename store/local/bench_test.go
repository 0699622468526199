package local_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

func openBench(b *testing.B) (*local.Store, grid.Table) {
	b.Helper()
	s, err := local.Open(local.Options{Dir: b.TempDir(), MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	month := grid.MonthOf(arrived)
	r, ok := grid.DefaultPolicy().Locate(arrived, month)
	if !ok {
		b.Fatal("no table for this week")
	}
	tb := grid.Table{Prefix: "t", Range: r, Month: month}
	if err := s.Create(b.Context(), tb, store.Hot); err != nil {
		b.Fatal(err)
	}
	return s, tb
}

func benchItem(i int64) store.Item {
	return store.Item{
		Key:   store.Key{PK: "bench", SK: fmt.Sprint(i)},
		GSI1:  store.Key{PK: "index", SK: fmt.Sprint(i)},
		Attrs: map[string]varve.Value{"name": varve.StringValue("a name of usual length"), "n": varve.IntValue(i)},
	}
}

// BenchmarkPut writes single items, one after another.
func BenchmarkPut(b *testing.B) {
	s, _ := openBench(b)
	for i := int64(0); b.Loop(); i++ {
		if err := s.Put(b.Context(), benchItem(i)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPutParallel writes single items from 32 goroutines per processor.
func BenchmarkPutParallel(b *testing.B) {
	s, _ := openBench(b)
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Put(b.Context(), benchItem(n.Add(1))); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkPutAll writes 100 items at a time.
func BenchmarkPutAll(b *testing.B) {
	s, _ := openBench(b)
	for i := int64(0); b.Loop(); i += 100 {
		items := make([]store.Item, 100)
		for j := range items {
			items[j] = benchItem(i + int64(j))
		}
		if err := s.PutAll(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
}

func benchReadings(tb grid.Table, device string, from, n int) []varve.Reading {
	list := make([]varve.Reading, n)
	for i := range list {
		list[i] = varve.Reading{
			Series:  varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: device},
			Time:    tb.Window().From.Add(time.Duration(from+i) * time.Millisecond),
			Arrived: arrived,
			Fields:  []varve.Field{{Name: "n", Value: varve.IntValue(int64(i))}},
		}
		list[i].Normalize()
	}
	return list
}

// BenchmarkWriteSingle writes single readings from 32 goroutines per processor.
func BenchmarkWriteSingle(b *testing.B) {
	s, tb := openBench(b)
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		device := fmt.Sprint("d", n.Add(1))
		for i := 0; pb.Next(); i++ {
			if r := s.Write(b.Context(), []store.Batch{{Table: tb, Readings: benchReadings(tb, device, i, 1)}}); r[0].Err != nil {
				b.Error(r[0].Err)
			}
		}
	})
}

// BenchmarkWriteBulk writes 10,000 readings at a time.
func BenchmarkWriteBulk(b *testing.B) {
	s, tb := openBench(b)
	for i := 0; b.Loop(); i++ {
		list := benchReadings(tb, "bulk", i*10_000, 10_000)
		if r := s.Write(b.Context(), []store.Batch{{Table: tb, Readings: list}}); r[0].Err != nil {
			b.Fatal(r[0].Err)
		}
	}
}
