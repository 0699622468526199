package changes_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/local"
)

func openLocal(b *testing.B, indexed bool) *engine.Engine {
	b.Helper()
	s, err := local.Open(local.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	o := engine.Options{Store: s}
	if indexed {
		o.Indexed = func(string) bool { return true }
	}
	e, err := engine.Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	return e
}

// put writes n readings of a device, one a second.
func put(b *testing.B, e *engine.Engine, device string, from time.Time, n int) {
	q, err := e.Router.Admit()
	if err != nil {
		b.Error(err)
		return
	}
	defer q.Done()
	readings, verdicts := make([]varve.Reading, n), make([]varve.Verdict, n)
	for i := range readings {
		readings[i] = varve.Reading{
			Series: varve.Series{Tenant: weather.Tenant, Stream: weather.Name, Device: device}, Time: from.Add(time.Duration(i) * time.Second),
			Fields: []varve.Field{{Name: "a", Value: varve.IntValue(int64(i))}, {Name: "b", Value: varve.IntValue(7)}},
		}
	}
	if err := q.Write(context.Background(), readings, verdicts); err != nil {
		b.Error(err)
	}
	for _, v := range verdicts {
		if v.Outcome != varve.Stored {
			b.Errorf("%+v", v)
			return
		}
	}
}

// BenchmarkWrites compares writes with change markers and without. In the case "batches", each
// write has 1,000 readings of one of 100 devices. In the case "singles", eight goroutines per CPU send
// one reading at a time, of 100 devices or of a new device each time.
func BenchmarkWrites(b *testing.B) {
	for _, indexed := range []bool{false, true} {
		b.Run(fmt.Sprintf("batches/markers=%t", indexed), func(b *testing.B) {
			e := openLocal(b, indexed)
			from := time.Now().Add(-30 * 24 * time.Hour)
			for i := 0; b.Loop(); i++ {
				put(b, e, fmt.Sprint("d", i%100), from.Add(time.Duration(i/100)*1000*time.Second), 1000)
			}
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "readings/s")
		})
		for _, devices := range []int64{100, 1 << 40} {
			b.Run(fmt.Sprintf("singles/devices=%d/markers=%t", devices, indexed), func(b *testing.B) {
				e := openLocal(b, indexed)
				var n atomic.Int64
				from := time.Now().Add(-time.Minute)
				b.SetParallelism(8)
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						i := n.Add(1)
						put(b, e, fmt.Sprint("d", i%devices), from.Add(time.Duration(i)*time.Microsecond), 1)
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "readings/s")
			})
		}
	}
}

// BenchmarkPoll measures a poll without changes, and one with a single change, of a stream in which
// 10,000 devices sent within a minute.
func BenchmarkPoll(b *testing.B) {
	e := openLocal(b, true)
	for i := range 10_000 {
		put(b, e, fmt.Sprint("d", i), time.Now(), 1)
	}
	poll := func(since changes.Cursor) (changes.Cursor, int) {
		rows, err := e.Changes.Open(b.Context(), changes.Query{Stream: weather, Since: since})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			page, err := rows.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if n += len(page); len(page) == 0 {
				return rows.Cursor(), n
			}
		}
	}
	begin := time.Now()
	at, n := poll(changes.Cursor{})
	b.Logf("%d changes of as many devices in %s", n, time.Since(begin))
	b.Run("idle", func(b *testing.B) {
		for b.Loop() {
			at, n = poll(at)
		}
	})
	b.Run("one change", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			put(b, e, fmt.Sprint("d", i%10_000), time.Now(), 1)
			for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; { // waits until the arrival is settled
			}
			b.StartTimer()
			if at, n = poll(at); n != 1 {
				b.Fatalf("%d changes, want 1", n)
			}
		}
	})
}
