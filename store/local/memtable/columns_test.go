package memtable_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// genValue draws values of all kinds, and numbers of very different scales and sizes.
func genValue(t *rapid.T) varve.Value {
	texts := []string{"1", "-1", "0", "2.50", "21.5", "1e17", "900000000000000000", "1152921504606846977", "-1152921504606846976", "1e-30", "12345678901234567890.5", "1e100", "0.00"}
	switch kind := rapid.SampledFrom([]string{"number", "number", "number", "string", "bool", "json"}).Draw(t, "kind"); kind {
	case "string":
		return varve.StringValue(rapid.SampledFrom([]string{"", "on", "off"}).Draw(t, "text"))
	case "bool":
		return varve.BoolValue(rapid.Bool().Draw(t, "bool"))
	case "json":
		return varve.CanonicalJSON(`[1]`)
	}
	n, err := decimal.Parse(rapid.SampledFrom(texts).Draw(t, "number"))
	if err != nil {
		t.Fatal(err)
	}
	return varve.NumberValue(n)
}

// genReadings draws readings of one series, one a second, with equal or different fields.
func genReadings(t *rapid.T, series varve.Series, base int64) (list []varve.Reading) {
	some := rapid.Bool().Draw(t, "some fields")
	numbers := rapid.Bool().Draw(t, "small numbers only")
	for i := range rapid.IntRange(1, 30).Draw(t, "readings") {
		r := varve.Reading{Series: series, Time: time.Unix(int64(i), 0).UTC(), Arrived: time.UnixMilli(base + rapid.Int64Range(-5, 5).Draw(t, "arrived")).UTC()}
		for _, name := range []string{"a", "b", "c"} {
			if some && rapid.Bool().Draw(t, "lacks") {
				continue
			}
			v := varve.NumberValue(decimal.FromScaled(rapid.Int64Range(-300, 300).Draw(t, "tenths"), -1))
			if !numbers {
				v = genValue(t)
			}
			r.Fields = append(r.Fields, varve.Field{Name: name, Value: v})
		}
		if rapid.IntRange(0, 5).Draw(t, "own id") == 0 {
			r.ID, _ = varve.ParseID(fmt.Sprint("own", i)) // no error, because the text is a valid id
		}
		memtable.SetID(&r)
		list = append(list, r)
	}
	return list
}

// TestView_ColumnsEqualRows compares the columns of a range of rows with its rows, also in a block
// that had other readings before.
func TestView_ColumnsEqualRows(t *testing.T) {
	const base = 1_800_000_000_000
	series := varve.Series{Tenant: "default", Stream: "s", Device: "d"}
	var b block.Block
	rapid.Check(t, func(t *rapid.T) {
		list := genReadings(t, series, base)
		m, rows := memtable.New(0, 1, memtable.Caching{}).Shards[0], new(memtable.Rows)
		for i := range list {
			bodies, e := memtable.Encode(nil, &list[i], base)
			m.Append(rows, []memtable.Entry{e}, m.Shape(list[i].Fields, 0), bodies)
		}
		v := m.Content.View(series, base, rows.All())
		from := rapid.IntRange(0, len(list)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(list)).Draw(t, "to")
		if err := v.Columns(from, to, &b); err != nil || b.Len() != to-from {
			t.Fatal(b.Len(), err)
		}
		for i := range to - from {
			var got, want varve.Reading
			b.Fill(i, &got)
			if err := v.Fill(from+i, &want, new(chunk.Arena)); err != nil {
				t.Fatal(err)
			}
			if !got.Equal(&want) || !got.Arrived.Equal(want.Arrived) || got.ID != want.ID || fmt.Sprint(got.Fields) != fmt.Sprint(want.Fields) {
				t.Fatalf("reading %d: got %v %v, want %v %v", from+i, &got, got.Fields, &want, want.Fields)
			}
		}
	})
}
