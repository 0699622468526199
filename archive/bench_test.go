package archive_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// BenchmarkArchive archives a week of minute readings of 100 devices from the embedded store to a
// folder. Each reading has two numbers that move in small steps, and arrives up to two seconds late.
func BenchmarkArchive(b *testing.B) {
	s, err := local.Open(local.Options{Dir: b.TempDir(), MinFree: -1, Now: clock})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	n := writeFleet(b, s, 100)
	ctx := context.Background()
	if err := s.Retire(ctx, table, now.Add(-time.Hour)); err != nil {
		b.Fatal(err)
	}
	infos, err := s.Tables(ctx, store.Filter{Any: true, Window: varve.AllTime(), Details: true})
	if err != nil || len(infos) != 1 {
		b.Fatal(err, len(infos))
	}
	var bytes int64
	var verifying time.Duration
	for range b.N {
		objects, err := folder.Open(b.TempDir(), folder.Shared)
		if err != nil {
			b.Fatal(err)
		}
		a := archive.New(archive.Options{Store: s, Items: s, Objects: objects, Prefix: fmt.Sprint(rand.Int()), ClassOf: func(grid.Table) string { return "default" }, Now: clock, ExactCounts: true})
		r, err := a.Archive(ctx, &infos[0])
		if err != nil {
			b.Fatal(err)
		}
		bytes = r.Bytes
		begin := time.Now()
		if err := a.Verify(ctx, &r); err != nil {
			b.Fatal(err)
		}
		verifying += time.Since(begin)
		b.StopTimer()
		if err := s.Delete(ctx, store.Key{PK: archive.RecordsPK, SK: table.Name()}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	archiving := b.Elapsed() - verifying // the rest includes the verification that Archive does itself
	b.ReportMetric(float64(n)*float64(b.N)/archiving.Seconds(), "readings/s")
	b.ReportMetric(float64(bytes)/float64(n), "B/reading")
	b.ReportMetric(100*verifying.Seconds()/(archiving-verifying).Seconds(), "verify%")
}

// writeFleet fills the table with readings of many devices, and returns the number of readings.
func writeFleet(b *testing.B, s store.Store, devices int) (n int) {
	ctx := context.Background()
	if err := s.Create(ctx, table, store.Hot); err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	minutes := int((table.End - table.Start) / 60)
	temperature, pressure := make([]int64, devices), make([]int64, devices)
	for i := range minutes {
		batch := store.Batch{Table: table}
		for d := range devices {
			temperature[d], pressure[d] = temperature[d]+rng.Int64N(3)-1, pressure[d]+rng.Int64N(3)-1
			at := time.Unix(table.Start+int64(i)*60, 0)
			r := varve.Reading{
				Series: varve.Series{Tenant: "default", Stream: "weather", Device: fmt.Sprintf("sensor-%03d", d)},
				Time:   at, Arrived: at.Add(time.Duration(rng.IntN(2000)) * time.Millisecond),
				Fields: []varve.Field{
					{Name: "pressure", Value: varve.NumberValue(decimal.FromScaled(10130+pressure[d], -1))},
					{Name: "temperature", Value: varve.NumberValue(decimal.FromScaled(200+temperature[d], -1))},
				},
			}
			if v := r.NormalizeValues(); v.Outcome == varve.Rejected {
				b.Fatal(v)
			}
			batch.Readings = append(batch.Readings, r)
		}
		if res := s.Write(ctx, []store.Batch{batch}); res[0].Err != nil {
			b.Fatal(res[0].Err)
		}
		n += len(batch.Readings)
	}
	return n
}

// BenchmarkReader reads a week of one device from an archive of 100 devices in a folder. The reader has
// no cached data.
func BenchmarkReader(b *testing.B) {
	s, err := local.Open(local.Options{Dir: b.TempDir(), MinFree: -1, Now: clock})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	total := writeFleet(b, s, 100)
	ctx := context.Background()
	objects, err := folder.Open(b.TempDir(), folder.Shared)
	if err != nil {
		b.Fatal(err)
	}
	a := archive.New(archive.Options{Store: s, Items: s, Objects: objects, ClassOf: func(grid.Table) string { return "default" }, Now: clock})
	r, err := a.Archive(ctx, &store.Info{Table: table, Owned: true, Status: store.Active, Readings: int64(total)})
	if err != nil {
		b.Fatal(err)
	}
	var stats archive.ReadStats
	n := 0
	for i := 0; b.Loop(); i++ {
		reader := archive.NewReader(a)
		of := varve.Series{Tenant: "default", Stream: "weather", Device: fmt.Sprintf("sensor-%03d", i%100)}
		next := reader.Open(&r, store.Range{Table: table, Series: of, Window: varve.AllTime()}).Next
		for n = 0; ; {
			page, err := next(ctx, 2048)
			if err != nil {
				b.Fatal(err)
			}
			for i := range page.Parts {
				n += page.Parts[i].Len()
			}
			if !page.More {
				break
			}
		}
		stats.Requests += reader.Stats().Requests
		stats.Bytes += reader.Stats().Bytes
	}
	if n != total/100 {
		b.Fatalf("%d readings, want %d", n, total/100)
	}
	b.ReportMetric(float64(stats.Requests)/float64(b.N), "requests/op")
	b.ReportMetric(float64(stats.Bytes)/float64(b.N), "B-read/op")
}
