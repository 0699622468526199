package parquetfile_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/decimal"
)

// TestBuilder_BoundsMemoryOfDecimals writes rows of many numbers that differ in their trailing zeros.
// The allocated bytes must not grow with the square of the number of values in a row.
func TestBuilder_BoundsMemoryOfDecimals(t *testing.T) {
	const rows, numbers = 2000, 256
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	b := parquetfile.NewBuilder(parquetfile.Options{Put: func(parquetfile.File) error { return nil }})
	for i := range rows {
		r := varve.Reading{Series: varve.Series{Tenant: "a", Stream: "s", Device: "d"}, Time: time.Unix(int64(i), 0)}
		for k := range numbers {
			d, err := decimal.Parse([]string{"1.5", "1.50", "1.500", "1.5000"}[random.IntN(4)])
			if err != nil {
				t.Fatal(err)
			}
			r.Fields = append(r.Fields, varve.Field{Name: fmt.Sprintf("v%03d", k), Value: varve.NumberValue(d)})
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		if err := b.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated, most := after.TotalAlloc-before.TotalAlloc, uint64(rows*numbers*250); allocated > most {
		t.Errorf("%d MiB were allocated for %d numbers, want at most %d MiB", allocated>>20, rows*numbers, most>>20)
	}
}
