package varve_test

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal/decimaltest"
)

// TestContentID_IgnoresNotation checks that equal readings have the same id, however their
// numbers and JSON are written.
func TestContentID_IgnoresNotation(t *testing.T) {
	tests := []struct {
		reason string
		a, b   []varve.Field
	}{
		{"1 and 1.0", []varve.Field{field("a", num(t, "1"))}, []varve.Field{field("a", num(t, "1.0"))}},
		{"1 and 1e0", []varve.Field{field("a", num(t, "1"))}, []varve.Field{field("a", num(t, "1e0"))}},
		{"1000 and 1e3", []varve.Field{field("a", num(t, "1000"))}, []varve.Field{field("a", num(t, "1e3"))}},
		{"0 and -0.00", []varve.Field{field("a", num(t, "0"))}, []varve.Field{field("a", num(t, "-0.00"))}},
		{"38 digits that are mostly zeros", []varve.Field{field("a", num(t, "7"))}, []varve.Field{field("a", num(t, "7."+zeros(37)))}},
		{"the order of fields", []varve.Field{field("a", num(t, "1")), field("b", text("x"))}, []varve.Field{field("b", text("x")), field("a", num(t, "1"))}},
		{"the order of JSON members", []varve.Field{field("m", jsonValue(t, `{"a":1,"b":[2]}`))}, []varve.Field{field("m", jsonValue(t, ` { "b" : [ 2.0 ], "a" : 1e0 } `))}},
		{"escapes in JSON", []varve.Field{field("m", jsonValue(t, `["a/"]`))}, []varve.Field{field("m", jsonValue(t, `["\u0061\/"]`))}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if a, b := contentID(t, tt.a...), contentID(t, tt.b...); a != b {
				t.Errorf("the ids are %s and %s", a, b)
			}
		})
	}
}

// TestContentID_SeparatesReadings checks that readings with different fields have different ids.
func TestContentID_SeparatesReadings(t *testing.T) {
	readings := map[string][]varve.Field{
		`{a:"1",b:"23"}`: {field("a", text("1")), field("b", text("23"))},
		`{a:"12",b:"3"}`: {field("a", text("12")), field("b", text("3"))},
		`{ab:"123"}`:     {field("ab", text("123"))},
		`{a:"b123"}`:     {field("a", text("b123"))},
		`{a:"1bs23"}`:    {field("a", text("1\x01bs\x0223"))}, // its bytes contain the canonical form of another field
		`{a:"x"}`:        {field("a", text("x"))},
		`{b:"x"}`:        {field("b", text("x"))},
		`{a:"x",b:"x"}`:  {field("a", text("x")), field("b", text("x"))},
		`{a:1}`:          {field("a", num(t, "1"))},
		`{a:-1}`:         {field("a", num(t, "-1"))},
		`{a:10}`:         {field("a", num(t, "10"))},
		`{a:0.1}`:        {field("a", num(t, "0.1"))},
		`{a:"1"}`:        {field("a", text("1"))},
		`{a:true}`:       {field("a", varve.BoolValue(true))},
		`{a:false}`:      {field("a", varve.BoolValue(false))},
		`{a:"true"}`:     {field("a", text("true"))},
		`{a:"t"}`:        {field("a", text("t"))},
		`{a:0}`:          {field("a", num(t, "0"))},
		`{a:""}`:         {field("a", text(""))},
		`{a:[]}`:         {field("a", jsonValue(t, "[]"))},
		`{a:"[]"}`:       {field("a", text("[]"))},
		`{a:[1]}`:        {field("a", jsonValue(t, "[1]"))},
		`{a:["1"]}`:      {field("a", jsonValue(t, `["1"]`))},
		`{a:2^64}`:       {field("a", num(t, "18446744073709551616"))}, // the low 64 bits of its coefficient are 0, as in the number 0
		`{a:2^65}`:       {field("a", num(t, "36893488147419103232"))},
	}
	seen := map[varve.ID]string{}
	for name, fields := range readings {
		id := contentID(t, fields...)
		if other, there := seen[id]; there {
			t.Errorf("%s and %s have the id %s", name, other, id)
		}
		seen[id] = name
	}
}

// datum is a value in several notations, and its canonical form as docs/data-model.md describes
// it.
type datum struct {
	ways []varve.Value
	form string
}

func lengthAndBytes(s string) string {
	return string(binary.AppendUvarint(nil, uint64(len(s)))) + s
}

// numberForm returns the documented form of a number, computed with math/big.
func numberForm(t tb, text string) string {
	r := decimaltest.Rat(t, text)
	if r.Sign() == 0 {
		return "n\x00\x00\x00"
	}
	coefficient, exp := new(big.Int), 0
	scaled := new(big.Rat).Abs(r)
	for ten := big.NewRat(10, 1); !scaled.IsInt(); exp-- {
		scaled.Mul(scaled, ten)
	}
	coefficient.Set(scaled.Num())
	for ten, rest := big.NewInt(10), new(big.Int); rest.Mod(coefficient, ten).Sign() == 0; exp++ {
		coefficient.Quo(coefficient, ten)
	}
	signed := int64(exp) * 2
	if r.Sign() < 0 {
		signed++
	}
	low := new(big.Int).And(coefficient, new(big.Int).SetUint64(1<<64-1))
	form := binary.AppendVarint([]byte("n"), signed)
	form = binary.AppendUvarint(form, low.Uint64())
	return string(binary.AppendUvarint(form, new(big.Int).Rsh(coefficient, 64).Uint64()))
}

func genDatum() *rapid.Generator[datum] {
	return rapid.Custom(func(t *rapid.T) datum {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			s := rapid.String().Draw(t, "string")
			return datum{[]varve.Value{text(s)}, "s" + lengthAndBytes(s)}
		case 1:
			return datum{[]varve.Value{varve.BoolValue(true)}, "t"}
		case 2:
			return datum{[]varve.Value{varve.BoolValue(false)}, "f"}
		case 3:
			x := genTree(0).Draw(t, "JSON")
			return datum{[]varve.Value{jsonValue(t, x.write(t)), jsonValue(t, x.write(t))}, "j" + lengthAndBytes(x.plain())}
		}
		n := decimaltest.Number().Draw(t, "number")
		canonical := varve.NumberValue(n.Canonical())
		return datum{[]varve.Value{varve.NumberValue(n), canonical}, numberForm(t, n.String())}
	})
}

// TestContentID_IsHashOfDocumentedForm compares the content ids of random fields, in any order
// and notation, with the hash of the documented form.
func TestContentID_IsHashOfDocumentedForm(t *testing.T) {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9.é]{1,4}|n{120,128}`), 1, 6, rapid.ID[string])
	checkMany(t, func(t *rapid.T) {
		var form strings.Builder
		var fields []varve.Field
		sorted := names.Draw(t, "names")
		slices.Sort(sorted)
		for _, name := range sorted {
			d := genDatum().Draw(t, name)
			fields = append(fields, field(name, rapid.SampledFrom(d.ways).Draw(t, "way")))
			form.WriteString(lengthAndBytes(name) + d.form)
		}
		want := varve.HashID(xxhash.Sum64String(form.String()))
		if got := contentID(t, rapid.Permutation(fields).Draw(t, "order")...); got != want {
			t.Fatalf("%v has the id %s, want %s: the hash of %q", fields, got, want, form.String())
		}
	})
}

// TestContentID_DependsOnFieldsOnly checks that the event time, the arrival and the device do not
// change the id.
func TestContentID_DependsOnFieldsOnly(t *testing.T) {
	want := contentID(t, field("t", num(t, "22.4")))
	for i, change := range []func(*varve.Reading){
		func(r *varve.Reading) { r.Time = r.Time.Add(1) },
		func(r *varve.Reading) { r.Arrived = noon },
		func(r *varve.Reading) { r.Device = "another" },
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := reading(t, "t", "22.4")
			change(&r)
			if v := r.Normalize(); v.Outcome == varve.Rejected || r.ID != want {
				t.Errorf("got %s, %s, want %s", r.ID, v, want)
			}
		})
	}
}
