package wire_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store/local/chunk"
)

// drawReadings draws readings of one device, sorted by position. Times, ids, scales and kinds of values are
// usual, except for a few readings.
func drawReadings(t *rapid.T) []varve.Reading {
	times := rapid.OneOf(rapid.Just(int64(60e9)), rapid.SampledFrom([]int64{1, 1e3, 1e6, 7e6, 100e6, 1e9, 86_400e9}))
	arrivals := rapid.SampledFrom([]int64{0, 0, 0, 1, 10, 97, 100, 1000, 86_400_000})
	ids := rapid.SampledFrom([]string{"", "", "", "", "", "own", "5gqMrv95kka"})
	names := []string{"battery", "humidity", strings.Repeat("long", 12), `quo"te`}
	values := rapid.OneOf(
		rapid.Map(rapid.Int64Range(-200, 2000), func(n int64) varve.Value { return varve.NumberValue(decimal.FromScaled(n, -1)) }),
		rapid.Map(rapid.Int64(), varve.IntValue),
		rapid.SampledFrom([]varve.Value{varve.IntValue(0), varve.BoolValue(true), varve.StringValue("\n"), varve.CanonicalJSON("[1]")}))
	plain := rapid.Bool().Draw(t, "plain")
	ns, arrived := rapid.SampledFrom([]int64{0, 86_399e9, 1793836800067e6}).Draw(t, "time"), int64(1793836800067)
	var list []varve.Reading
	for range rapid.IntRange(1, 150).Draw(t, "readings") {
		ns, arrived = ns+times.Draw(t, "step"), arrived+arrivals.Draw(t, "delay")
		r := varve.Reading{Series: varve.Series{Tenant: "t", Stream: "s", Device: "d"}, Time: time.Unix(0, ns), Arrived: time.UnixMilli(arrived)}
		for _, name := range names {
			if plain {
				r.Fields = append(r.Fields, varve.Field{Name: name, Value: varve.IntValue(rapid.Int64Range(-3, 120).Draw(t, "coefficient"))})
			} else if rapid.Bool().Draw(t, "has") {
				r.Fields = append(r.Fields, varve.Field{Name: name, Value: values.Draw(t, "value")})
			}
		}
		if len(r.Fields) == 0 {
			r.Fields = []varve.Field{{Name: "battery", Value: varve.BoolValue(true)}}
		}
		if text := ids.Draw(t, "id"); text != "" {
			id, err := varve.ParseID(text)
			if err != nil {
				t.Fatal(err)
			}
			r.ID = id.WithVersion(rapid.Uint32Range(0, 1).Draw(t, "version"))
		}
		if v := r.Normalize(); v.Outcome != 0 {
			t.Fatal(v)
		}
		list = append(list, r)
	}
	return list
}

// TestAppendPart_AgreesWithAppendReading compares objects from columns with the objects of the same readings. One
// writer writes two parts of the readings.
func TestAppendPart_AgreesWithAppendReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawReadings(t)
		var b chunk.Builder
		for i := range list {
			b.Add(&list[i], !list[i].HasOwnID())
		}
		c := new(chunk.Chunk)
		if err := c.Decode(varve.Series{Tenant: "t", Stream: "s", Device: "d"}, b.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		whole := block.Part{Block: &c.Block, To: len(list), Desc: rapid.Bool().Draw(t, "desc")}
		if whole.Desc {
			slices.Reverse(list)
		}
		var objects []string
		for i := range list {
			objects = append(objects, string(wire.AppendReading(nil, &list[i])))
		}
		first, rest := whole.Cut(rapid.IntRange(0, len(list)).Draw(t, "cut"))
		var w wire.RowWriter
		for format, want := range map[wire.Format]string{wire.JSON: "\n" + strings.Join(objects, ",\n"), wire.NDJSON: strings.Join(objects, "\n") + "\n"} {
			got, _ := w.AppendPart(nil, format, &first, true)
			got, _ = w.AppendPart(got, format, &rest, first.Len() == 0)
			if string(got) != want {
				t.Fatalf("%s: got %s\nwant %s", format, got, want)
			}
		}
	})
}
