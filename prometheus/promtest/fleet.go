// Package promtest generates readings and PromQL queries for tests that compare Varve with
// Prometheus.
//
//	Fleet ──▶ Readings ──▶ Varve ──────┐
//	   └────▶ Samples  ──▶ Prometheus ─┴─▶ equal answers to Queries
//
// [Fleet] returns devices, [Device.Readings] their readings, and [Queries] random queries. Equal
// arguments give equal readings and queries. No reading is at a whole second, where windows of
// queries begin and end. Versions of Prometheus differ in the window to which they assign such a
// reading.
//
// The functions cannot fail, and have no state.
package promtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// Device is a device of the fleet.
type Device struct {
	Name, Stream string
	Site, Floor  string // attributes of the device
	Fields       []string
	Interval     time.Duration
}

// Labels returns the labels of the series of a field.
func (d *Device) Labels(field string) map[string]string {
	return map[string]string{
		"__name__": field, "stream": d.Stream, "device": d.Name, "status": "active", "type": "sensor", "site": d.Site, "floor": d.Floor,
	}
}

// Fleet returns twelve devices in two streams.
func Fleet() []Device {
	var list []Device
	sites := []string{"north", "south", "west"}
	for i := range 12 {
		d := Device{
			Name: fmt.Sprintf("d%02d", i), Stream: "weather", Site: sites[i%3], Floor: fmt.Sprint(i % 4),
			Fields: []string{"humidity", "temperature"}, Interval: time.Minute,
		}
		if i%4 == 3 {
			d.Stream, d.Fields = "power", []string{"energy_total", "power"}
		}
		if i == 5 {
			d.Interval = 4 * time.Minute
		}
		list = append(list, d)
	}
	return list
}

// Readings returns the readings of a device in a window, in their order.
func (d *Device) Readings(w varve.Window) []varve.Reading {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(d.Name)) // Write of a hash never fails
	rng := rand.New(rand.NewPCG(hash.Sum64(), 1))
	var list []varve.Reading
	const least = 100_000 // far from 0, because versions of Prometheus differ in the extrapolation of rates to 0
	total := int64(least)
	phase := 7*time.Second + time.Duration(rng.Int64N(40_000)+1)*time.Millisecond
	for at := w.From.Truncate(d.Interval); at.Before(w.To); at = at.Add(d.Interval) {
		if rng.IntN(200) == 0 {
			at = at.Add(time.Duration(rng.IntN(30)) * d.Interval) // simulates an outage of the device
		}
		r := varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: d.Stream, Device: d.Name},
			Time:   at.Add(phase + time.Duration(rng.Int64N(3000))*time.Millisecond),
		}
		if r.Time.Nanosecond() == 0 {
			r.Time = r.Time.Add(500 * time.Millisecond)
		}
		if total += rng.Int64N(500); rng.IntN(400) == 0 {
			total = least // the counter restarts
		}
		for _, field := range d.Fields {
			if v := valueOf(rng, field, total); !v.IsZero() {
				r.Fields = append(r.Fields, varve.Field{Name: field, Value: v})
			}
		}
		if w.Contains(r.Time) && len(r.Fields) > 0 {
			list = append(list, r)
		}
	}
	return list
}

// valueOf returns a value of a field, or no value. Some numbers need more digits than a float has.
func valueOf(rng *rand.Rand, field string, total int64) varve.Value {
	scaled := func(n int64, exp int) varve.Value { return varve.NumberValue(decimal.FromScaled(n, exp)) }
	switch {
	case field == "energy_total":
		return scaled(total, -1)
	case rng.IntN(50) == 0:
		return varve.Value{}
	case field == "temperature" && rng.IntN(100) == 0:
		n, _ := decimal.Parse(fmt.Sprintf("%d.%024d", rng.IntN(40), rng.Int64())) // the text is a number
		return varve.NumberValue(n)
	case field == "temperature":
		return scaled(rng.Int64N(500_000)-100_000, -4)
	case field == "humidity":
		return scaled(rng.Int64N(10_000), -2)
	default:
		return scaled(rng.Int64N(1<<40), -rng.IntN(12))
	}
}

// Sample is a number of a series at a time in milliseconds.
type Sample struct {
	Labels map[string]string
	T      int64
	Text   string // the number with all its digits
	F      float64
}

// Samples returns the numbers in readings of a device as samples, by field.
func (d *Device) Samples(readings []varve.Reading) map[string][]Sample {
	all := map[string][]Sample{}
	for i := range readings {
		for _, f := range readings[i].Fields {
			if f.Value.Kind() == varve.KindNumber {
				n := f.Value.Number()
				all[f.Name] = append(all[f.Name], Sample{d.Labels(f.Name), readings[i].Time.UnixMilli(), n.String(), n.Float64()})
			}
		}
	}
	return all
}
