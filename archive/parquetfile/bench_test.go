package parquetfile_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
)

// fleet returns parts of minute readings of many devices. Each reading has two numbers that move in
// small steps, as sensors send them, and arrives up to two seconds late.
func fleet(b *testing.B, devices, each int) (parts []block.Part) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for d := range devices {
		temperature, pressure := int64(200+d%50), int64(10130)
		var list []varve.Reading
		for i := range each {
			at := start.Add(time.Duration(i) * time.Minute)
			temperature, pressure = temperature+rng.Int64N(3)-1, pressure+rng.Int64N(3)-1
			r := varve.Reading{
				Series: varve.Series{Tenant: "default", Stream: "weather", Device: "sensor-" + string(rune('a'+d/26%26)) + string(rune('a'+d%26))},
				Time:   at, Arrived: at.Add(time.Duration(rng.IntN(2000)) * time.Millisecond),
				Fields: []varve.Field{
					{Name: "pressure", Value: varve.NumberValue(decimal.FromScaled(pressure, -1))},
					{Name: "temperature", Value: varve.NumberValue(decimal.FromScaled(temperature, -1))},
				},
			}
			r.Normalize()
			list = append(list, r)
			if len(list) == 1000 || i == each-1 {
				parts = append(parts, partOf(b, list))
				list = list[:0]
			}
		}
	}
	return parts
}

func BenchmarkFile(b *testing.B) {
	parts := fleet(b, 200, 5000)
	var readings int64
	for i := range parts {
		readings += int64(parts[i].Len())
	}
	var files []parquetfile.File
	b.Run("write", func(b *testing.B) {
		for range b.N {
			files = files[:0]
			builder := parquetfile.NewBuilder(parquetfile.Options{Put: func(f parquetfile.File) error {
				files = append(files, f)
				return nil
			}})
			for i := range parts {
				if err := builder.AddPart(&parts[i]); err != nil {
					b.Fatal(err)
				}
			}
			if err := builder.Close(); err != nil {
				b.Fatal(err)
			}
		}
		size := 0
		for i := range files {
			size += len(files[i].Body)
		}
		b.ReportMetric(float64(readings)*float64(b.N)/b.Elapsed().Seconds(), "readings/s")
		b.ReportMetric(float64(size)/float64(readings), "B/reading")
	})
	b.Run("read", func(b *testing.B) {
		for range b.N {
			for i := range files {
				rd, err := parquetfile.Open(bytes.NewReader(files[i].Body), int64(len(files[i].Body)))
				if err != nil {
					b.Fatal(err)
				}
				for g := range rd.Groups() {
					if _, err := rd.ReadGroup(g, false); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		b.ReportMetric(float64(readings)*float64(b.N)/b.Elapsed().Seconds(), "readings/s")
	})
}
