package rollup

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store"
)

// evenly returns n readings with three fields, and their slots. The event times are spread evenly
// over the given duration. All readings arrived on the same day.
func evenly(n int, over time.Duration, arrival int64) (list []varve.Reading, slots map[slot]bool) {
	slots = map[slot]bool{}
	for i := range n {
		r := varve.Reading{
			Series: series, Time: Daily.start(20_000).Add(over / time.Duration(n) * time.Duration(i)),
			Arrived: Daily.start(arrival), ID: varve.HashID(uint64(i) * 0x9e3779b97f4a7c15),
		}
		for j, name := range []string{"battery", "humidity", "temperature"} {
			r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.NumberValue(decimal.FromScaled(int64(224+(i+j)%30), -1))})
		}
		list = append(list, r)
		slots[slot{hourOf(r.Time.Unix()), arrival}] = true
	}
	return list, slots
}

// recounted recounts readings as if each were the first copy.
func recounted(t testing.TB, blank tally, readings []varve.Reading, slots map[slot]bool, partials partialSet) map[slot]*Partial {
	c := newRecount(IgnoreResent, blank, slots, slots, partials)
	for i := range readings {
		if err := c.Copy(store.Copy{Reading: &readings[i], First: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted := map[slot]*Partial{}
	for at, a := range c.aggregates {
		counted[at] = a.partial()
	}
	return counted
}

// BenchmarkRecount measures recounts of a day for three purposes: for a read, for the aggregator,
// and of resent readings whose first copies were dropped.
func BenchmarkRecount(b *testing.B) {
	for _, n := range []int{1440, 24 * 3600} {
		kept := tally{sketch: &sketch{}}
		first, slots := evenly(n, 24*time.Hour, 20_000)
		again, late := evenly(n, 24*time.Hour, 20_040)
		partials := partialSet(recounted(b, kept, first, slots, nil))
		for _, c := range []struct {
			name     string
			blank    tally
			readings []varve.Reading
			slots    map[slot]bool
			partials partialSet
			want     int64
		}{
			{"read", tally{}, first, slots, nil, int64(n / 24)},
			{"worker", kept, first, slots, nil, int64(n / 24)},
			{"resent", kept, again, late, partials, 0},
		} {
			b.Run(fmt.Sprintf("%d readings/%s", n, c.name), func(b *testing.B) {
				for b.Loop() {
					for at, p := range recounted(b, c.blank, c.readings, c.slots, c.partials) {
						if p.Readings != c.want {
							b.Fatal(at, p.Readings)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/reading")
			})
		}
	}
}
