package block_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store/local/chunk"
)

var series = varve.Series{Tenant: "default", Stream: "weather", Device: "d1"}

// mixed returns n readings with numbers of several scales, texts, missing fields, and ids that a
// client chose.
func mixed(t *testing.T, n int) []varve.Reading {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var list []varve.Reading
	for i := range n {
		r := varve.Reading{Series: series, Time: time.Unix(1_700_000_000+int64(i/2), 0).UTC(), Arrived: time.Unix(1_700_100_000, 0).UTC()}
		r.Fields = []varve.Field{{Name: "plain", Value: varve.NumberValue(decimal.FromScaled(int64(i), -1))}}
		if rng.IntN(2) == 0 {
			r.Fields = append(r.Fields, varve.Field{Name: "some", Value: varve.NumberValue(decimal.FromScaled(rng.Int64N(1000)*10, -rng.IntN(4)))})
		}
		if rng.IntN(3) == 0 {
			r.Fields = append(r.Fields, varve.Field{Name: "text", Value: varve.StringValue(fmt.Sprint("t", i))})
		}
		if rng.IntN(4) == 0 {
			id, err := varve.ParseID(fmt.Sprint("own-", i))
			if err != nil {
				t.Fatal(err)
			}
			r.ID = id
		}
		if v := r.Normalize(); v.Outcome != 0 {
			t.Fatal(v)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
	return list
}

// blockOf returns a block with the given readings.
func blockOf(t *testing.T, list []varve.Reading) *block.Block {
	t.Helper()
	return &chunkOf(t, list).Block
}

// chunkOf encodes readings as a chunk, and decodes it.
func chunkOf(t *testing.T, list []varve.Reading) *chunk.Chunk {
	t.Helper()
	var b chunk.Builder
	for i := range list {
		b.Add(&list[i], !list[i].HasOwnID())
	}
	c := new(chunk.Chunk)
	if err := c.Decode(series, b.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBlock_ReturnsReadings checks that a block returns its readings, and computes their ids from
// its columns.
func TestBlock_ReturnsReadings(t *testing.T) {
	list := mixed(t, 300)
	b := blockOf(t, list)
	var forms block.Forms
	forms.Reset(b)
	if b.Len() != len(list) {
		t.Fatalf("%d readings, want %d", b.Len(), len(list))
	}
	var r varve.Reading
	for i := range list {
		if b.Fill(i, &r); !r.Equal(&list[i]) {
			t.Errorf("reading %d is %v %v, want %v %v", i, &r, r.Fields, &list[i], list[i].Fields)
		}
		other := list[(i+1)%len(list)].Fields
		if !b.HasFields(i, list[i].Fields) || b.HasFields(i, nil) || b.HasFields(i, other) != list[i].SameFields(&varve.Reading{Fields: other}) {
			t.Errorf("reading %d is not compared with its fields %v alone", i, list[i].Fields)
		}
		if id := forms.ID(i); id != list[i].ID {
			t.Errorf("the id of reading %d is %s, want %s", i, id, list[i].ID)
		}
	}
}

// TestForms_RemembersIDs requests the same ids repeatedly, between requests for other ids and for ids
// of another block. Each result must be the id of the requested reading.
func TestForms_RemembersIDs(t *testing.T) {
	list := mixed(t, 40)
	a, b := blockOf(t, list[:20]), blockOf(t, list[20:])
	var forms block.Forms
	for k, of := range []*block.Block{a, b, a} {
		forms.Reset(of)
		want := list[20*(k%2):]
		for _, i := range []int{0, 19, 0, 19, 7, 0, 7, 7, 19} {
			if id := forms.ID(i); id != want[i].ID {
				t.Errorf("block %d: the id of reading %d is %s, want %s", k, i, id, want[i].ID)
			}
		}
	}
}

// TestPart_CutsInBothOrders checks the rows, the ids, and the first and last times of parts that
// are cut from a block.
func TestPart_CutsInBothOrders(t *testing.T) {
	list := mixed(t, 50)
	b := blockOf(t, list)
	var forms block.Forms
	forms.Reset(b)
	for _, desc := range []bool{false, true} {
		whole := block.Part{Block: b, From: 5, To: 45, Desc: desc}
		want := slices.Clone(list[5:45])
		if desc {
			slices.Reverse(want)
		}
		for _, n := range []int{0, 1, 17, 40} {
			first, rest := whole.Cut(n)
			at := 0
			for _, p := range []block.Part{first, rest} {
				ids := forms.IDs(&p, 0, p.Len())
				for k := range p.Len() {
					if ids[k] != want[at].ID || p.Times[p.Row(k)] != want[at].Time.UnixNano() {
						t.Errorf("desc %t, cut %d: reading %d is %s, want %s", desc, n, at, ids[k], want[at].ID)
					}
					at++
				}
				if n := p.Len(); n > 0 && (p.FirstTime() != want[at-n].Time.UnixNano() || p.LastTime() != want[at-1].Time.UnixNano()) {
					t.Errorf("desc %t: the part begins at %d and ends at %d", desc, p.FirstTime(), p.LastTime())
				}
			}
			if at != len(want) {
				t.Errorf("desc %t, cut %d: %d readings, want %d", desc, n, at, len(want))
			}
		}
	}
}

// TestColumn_Numbers compares summaries of columns with summaries that the test computes value by
// value. The columns have numbers of one scale, of several scales, with more than 64 bits, and values
// of other kinds.
func TestColumn_Numbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var values []varve.Value
		drawn := rapid.SliceOfN(rapid.Map(rapid.SampledFrom([]string{"", "text", "true", "7", "-7", "0", "2.50", "1e17", "-9e17", "12345678901234567890.5"}), value), 1, 40)
		if rapid.Bool().Draw(t, "plain") {
			drawn = rapid.SliceOfN(rapid.Map(rapid.Int64Range(-1<<59, 1<<59), varve.IntValue), 1, 40)
		}
		values = drawn.Draw(t, "values")
		b := columnOf(values)
		from := rapid.IntRange(0, len(values)).Draw(t, "from")
		to := rapid.IntRange(from, len(values)).Draw(t, "to")
		if len(b.Columns) == 0 {
			return
		}
		got, want := b.Columns[0].Numbers(from, to), block.Numbers{}
		var gotSum, wantSum decimal.Sum
		got.AddTo(&gotSum)
		for i := from; i < to; i++ {
			if values[i].Kind() != varve.KindNumber {
				continue
			}
			n := values[i].Number()
			wantSum.Add(n)
			if want.Count == 0 {
				want.Min, want.Max, want.First = n, n, i
			}
			if n.Compare(want.Min) < 0 {
				want.Min = n
			}
			if n.Compare(want.Max) > 0 {
				want.Max = n
			}
			want.Count, want.Last = want.Count+1, i
		}
		if got.Count != want.Count || got.First != want.First || got.Last != want.Last || gotSum.String() != wantSum.String() ||
			got.Min.Compare(want.Min) != 0 || got.Max.Compare(want.Max) != 0 {
			t.Fatalf("%d to %d of %v: got %+v and sum %s, want %+v and sum %s", from, to, values, got, gotSum.String(), want, wantSum.String())
		}
	})
}

// value returns the value of a text: a boolean, a number or a string, or the zero Value for "".
func value(text string) varve.Value {
	n, err := decimal.Parse(text)
	switch {
	case text == "":
		return varve.Value{}
	case text == "true":
		return varve.BoolValue(true)
	case err != nil:
		return varve.StringValue(text)
	}
	return varve.NumberValue(n)
}

// columnOf returns a block whose only column has the given values. Readings with the zero Value lack
// the field.
func columnOf(values []varve.Value) *block.Block {
	var b chunk.Builder
	for i, v := range values {
		r := varve.Reading{Series: series, Time: time.Unix(int64(i), 0), Arrived: time.Unix(0, 0)}
		if !v.IsZero() {
			r.Fields = []varve.Field{{Name: "v", Value: v}}
		}
		b.Add(&r, true)
	}
	c := new(chunk.Chunk)
	if err := c.Decode(series, b.AppendTo(nil)); err != nil {
		panic(err)
	}
	return &c.Block
}

// TestFill_TakesMemoryForOwnFields fills readings that have one of 1000 columns each. A reading must not
// hold memory for the other columns, with and without an arena.
func TestFill_TakesMemoryForOwnFields(t *testing.T) {
	const columns = 1000
	var list []varve.Reading
	for i := range columns {
		r := varve.Reading{Series: series, Time: time.Unix(int64(i), 0).UTC(), Arrived: time.Unix(1_700_100_000, 0).UTC()}
		r.Fields = []varve.Field{{Name: fmt.Sprintf("f%04d", i), Value: varve.NumberValue(decimal.FromScaled(int64(i), 0))}}
		if v := r.Normalize(); v.Outcome != 0 {
			t.Fatal(v)
		}
		list = append(list, r)
	}
	c := chunkOf(t, list)
	var arena chunk.Arena
	for i := range list {
		var plain, shared varve.Reading
		c.Block.Fill(i, &plain)
		if err := c.Fill(i, &shared, &arena); err != nil {
			t.Fatal(err)
		}
		for _, r := range []varve.Reading{plain, shared} {
			if !r.Equal(&list[i]) || cap(r.Fields) != 1 {
				t.Fatalf("reading %d is %v with memory for %d fields, want %v with memory for 1", i, &r, cap(r.Fields), &list[i])
			}
		}
	}
}
