package chunk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

var series = varve.Series{Tenant: "acme", Stream: "weather", Device: "a"}

func genNumber(t *rapid.T) varve.Value {
	text := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?`),
		rapid.StringMatching(`-?[1-9][0-9]{10,37}`),
		rapid.StringMatching(`-?[1-9](\.[0-9]{1,20})?e-?[1-9][0-9]?`),
	).Draw(t, "number")
	n, err := decimal.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return varve.NumberValue(n)
}

func genValue(t *rapid.T) varve.Value {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return varve.BoolValue(rapid.Bool().Draw(t, "bool"))
	case 1:
		return varve.StringValue(rapid.String().Draw(t, "string"))
	case 2:
		v, err := varve.JSONValue(fmt.Appendf(nil, `{"a":[%d]}`, rapid.IntRange(0, 9).Draw(t, "json")))
		if err != nil {
			t.Fatal(err)
		}
		return v
	default:
		return genNumber(t)
	}
}

func genReadings(t *rapid.T) []varve.Reading {
	var rs []varve.Reading
	at := rapid.Int64Range(0, 1<<61).Draw(t, "start")
	step := rapid.SampledFrom([]int64{0, 1, 1e6, 1e9, 60e9}).Draw(t, "step")
	names := []string{"a", "b", "c", "dd"}
	for range rapid.IntRange(1, 50).Draw(t, "n") {
		at += step * rapid.Int64Range(0, 3).Draw(t, "steps")
		r := varve.Reading{Series: series, Time: time.Unix(0, at), Arrived: time.UnixMilli(rapid.Int64Range(0, 1e13).Draw(t, "arrived"))}
		for _, name := range names {
			if len(r.Fields) == 0 || rapid.Bool().Draw(t, "has") {
				r.Fields = append(r.Fields, varve.Field{Name: name, Value: genValue(t)})
			}
		}
		switch rapid.IntRange(0, 4).Draw(t, "id") {
		case 0:
			r.ID = varve.HashID(rapid.Uint64().Draw(t, "hash"))
		case 1:
			r.ID, _ = varve.ParseID(rapid.StringMatching(`[a-z]{1,20}`).Draw(t, "text"))
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		rs = append(rs, r)
	}
	slices.SortFunc(rs, func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
	return rs
}

func build(rs []varve.Reading) []byte {
	var b Builder
	for i := range rs {
		b.Add(&rs[i], !rs[i].HasOwnID())
	}
	return b.AppendTo(nil)
}

func check(t rapid.TB, c *Chunk, data []byte, want []varve.Reading) {
	t.Helper()
	if err := c.Decode(series, data); err != nil {
		t.Fatal(err)
	}
	if c.Len() != len(want) {
		t.Fatalf("%d readings, want %d", c.Len(), len(want))
	}
	var arena Arena
	var got varve.Reading
	for i := range want {
		c.fill(i, &got, &arena)
		if !got.Equal(&want[i]) || fmt.Sprint(got.Fields) != fmt.Sprint(want[i].Fields) {
			t.Fatalf("reading %d:\n got %v %v %v\nwant %v %v %v", i, &got, got.Arrived, got.Fields, &want[i], want[i].Arrived, want[i].Fields)
		}
		if c.Time(i) != want[i].Time.UnixNano() || c.Arrived(i) != want[i].Arrived.UnixMilli() {
			t.Fatalf("reading %d: times %d %d", i, c.Time(i), c.Arrived(i))
		}
	}
}

func TestChunk_RoundTrips(t *testing.T) {
	var reused Chunk // memory of one chunk must not affect the next one
	rapid.Check(t, func(t *rapid.T) {
		rs := genReadings(t)
		data := build(rs)
		check(t, &reused, data, rs)
		h, err := ReadHeader(data)
		last := rs[len(rs)-1].Time.UnixNano()
		if err != nil || h.Count != len(rs) || h.MinTime != rs[0].Time.UnixNano() || h.MaxTime != last {
			t.Fatalf("header %+v, %v", h, err)
		}
	})
}

func TestBuilder_ResetDiscardsReadings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := genReadings(t), genReadings(t)
		var b Builder
		for _, rs := range [][]varve.Reading{first, second} {
			b.Reset()
			for i := range rs {
				b.Add(&rs[i], !rs[i].HasOwnID())
			}
			check(t, new(Chunk), b.AppendTo(nil), rs)
		}
	})
}

func TestInts_RoundTripInEachPacking(t *testing.T) {
	cases := map[string][]int64{
		"same":        {7, 7, 7, 7},
		"extremes":    {-1 << 63, 1<<63 - 1, 0, -1, 1},
		"regular":     {0, 60, 120, 180, 240, 300},
		"runs":        {5, 5, 5, 5, 9, 9, 9, 9, 9, 2, 2, 2},
		"one":         {-3},
		"two":         {1, 1 << 40},
		"random walk": {100, 101, 99, 98, 100, 103},
	}
	for name, vals := range cases {
		t.Run(name, func(t *testing.T) {
			s := source{data: appendInts(nil, vals)}
			got := make([]int64, len(vals))
			s.ints(got)
			if s.err != nil || len(s.data) != 0 || !slices.Equal(got, vals) {
				t.Fatalf("got %v, %v, %d bytes left", got, s.err, len(s.data))
			}
		})
	}
}

// minutes returns readings of a device that reports three values a minute.
func minutes(n int) []varve.Reading {
	rng := rand.New(rand.NewPCG(1, 2))
	temp, hum, bat := 224, 450, 1000
	var rs []varve.Reading
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range n {
		temp += rng.IntN(7) - 3
		hum += rng.IntN(5) - 2
		if i%200 == 0 {
			bat--
		}
		r := varve.Reading{Series: series, Time: at.Add(time.Duration(i) * time.Minute), Arrived: at.Add(time.Duration(i) * time.Minute).Add(time.Duration(rng.IntN(2000)) * time.Millisecond),
			Fields: []varve.Field{
				{Name: "battery", Value: varve.NumberValue(decimal.FromScaled(int64(bat), -1))},
				{Name: "humidity", Value: varve.NumberValue(decimal.FromScaled(int64(hum), -1))},
				{Name: "temperature", Value: varve.NumberValue(decimal.FromScaled(int64(temp), -1))},
			}}
		r.Normalize()
		rs = append(rs, r)
	}
	return rs
}

func FuzzDecode(f *testing.F) {
	f.Add(build(minutes(3)))
	f.Add(build(minutes(100)))
	rs := minutes(4)
	rs[1].Fields = []varve.Field{{Name: "s", Value: varve.StringValue("x")}, {Name: "temperature", Value: varve.BoolValue(true)}}
	rs[2].ID, _ = varve.ParseID("client")
	f.Add(build(rs))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Chunk
		if c.Decode(series, data) != nil {
			return
		}
		var arena Arena
		var r varve.Reading
		for i := range c.Len() {
			c.fill(i, &r, &arena)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	rs := minutes(1024)
	var bl Builder
	var dst []byte
	for b.Loop() {
		bl.Reset()
		for i := range rs {
			bl.Add(&rs[i], !rs[i].HasOwnID())
		}
		dst = bl.AppendTo(dst[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rs)), "ns/reading")
	b.ReportMetric(float64(len(dst))/float64(len(rs)), "B/reading")
}

func BenchmarkDecode(b *testing.B) {
	data := build(minutes(1024))
	var c Chunk
	for b.Loop() {
		if err := c.Decode(series, data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*1024), "ns/reading")
}

func BenchmarkFill(b *testing.B) {
	var c Chunk
	if err := c.Decode(series, build(minutes(1024))); err != nil {
		b.Fatal(err)
	}
	rs := make([]varve.Reading, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var arena Arena
		for i := range rs {
			c.fill(i, &rs[i], &arena)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*1024), "ns/reading")
}
