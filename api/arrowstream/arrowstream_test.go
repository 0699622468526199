package arrowstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/arrowstream"
	"github.com/varvedb/varve/decimal"
)

func number(t *testing.T, text string) varve.Value {
	t.Helper()
	n, err := decimal.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return varve.NumberValue(n)
}

// series returns a reading for each value of a field.
func series(name string, values ...varve.Value) []varve.Reading {
	readings := make([]varve.Reading, len(values))
	for i, v := range values {
		readings[i].Time, readings[i].Arrived = time.Unix(int64(i), 1).UTC(), time.UnixMilli(5).UTC()
		readings[i].Fields = []varve.Field{{Name: name, Value: v}}
	}
	return readings
}

func typesOf(readings []varve.Reading) *arrowstream.TypeSet {
	types := arrowstream.NewTypeSet(nil)
	for i := range readings {
		types.Add(&readings[i])
	}
	return types
}

func stream(t *testing.T, readings []varve.Reading, numbers arrowstream.Numbers) []byte {
	t.Helper()
	var out bytes.Buffer
	w := typesOf(readings).NewWriter(&out, numbers)
	if err := errors.Join(w.Add(readings), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTypeSet_ChoosesExactType checks the type of the column of a number field, and its first value.
// The numbers are exact, or floats.
func TestTypeSet_ChoosesExactType(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for _, row := range []struct{ numbers, exact, first, float string }{
		{"1", "decimal(38, 0)", "1", "1"},
		{"42.0 41.5", "decimal(38, 1)", "42.0", "42"},
		{"-0.001 1e3", "decimal(38, 3)", "-0.001", "-0.001"},
		{"1e3", "decimal(38, 0)", "1000", "1000"},
		{nines, "decimal(38, 0)", nines, "1e+38"},
		{"-" + nines, "decimal(38, 0)", "-" + nines, "-1e+38"},
		{"0." + nines + " 0", "decimal(38, 38)", "0." + nines, "1"},
		{"0." + nines + " 1", "utf8", "0." + nines, "1"},
		{nines + " 0.5", "utf8", nines, "1e+38"},
		{nines + " 0.0", "decimal(38, 0)", nines, "1e+38"},
		{"1e38", "utf8", "", "1e+38"},
		{"1e37", "decimal(38, 0)", "1" + strings.Repeat("0", 37), "1e+37"},
		{"1e-38", "decimal(38, 38)", "0." + strings.Repeat("0", 37) + "1", "1e-38"},
		{"1e-39", "utf8", "", "1e-39"},
		{"0.00 0e5", "decimal(38, 2)", "0.00", "0"},
	} {
		var values []varve.Value
		for text := range strings.FieldsSeq(row.numbers) {
			values = append(values, number(t, text))
		}
		readings := series("a", values...)
		for numbers, want := range map[arrowstream.Numbers]string{arrowstream.Exact: row.exact, arrowstream.Floats: "float64"} {
			in, err := ipc.NewReader(bytes.NewReader(stream(t, readings, numbers)))
			if err != nil {
				t.Fatal(err)
			}
			field := in.Schema().Field(3)
			record, err := in.Read()
			if err != nil {
				t.Fatal(err)
			}
			first := row.float
			if numbers == arrowstream.Exact {
				if first = row.first; first == "" {
					first = values[0].String()
				}
			}
			got := record.Column(3).ValueStr(0)
			if c, ok := record.Column(3).(*array.Decimal128); ok {
				var scale int32
				fmt.Sscanf(row.exact, "decimal(38, %d)", &scale)
				got = c.Value(0).ToString(scale)
			}
			if field.Type.String() != want || got != first {
				t.Errorf("%s: %s %s, want %s %s", row.numbers, field.Type, got, want, first)
			}
			in.Release()
		}
	}
}

// TestWriter_RefusesChangedTypes checks that a value whose kind, scale or field was not collected is an
// error, and is not converted.
func TestWriter_RefusesChangedTypes(t *testing.T) {
	text, truth, json := varve.StringValue("x"), varve.BoolValue(true), varve.CanonicalJSON("[]")
	for _, row := range []struct{ collected, late varve.Value }{
		{number(t, "1.5"), number(t, "1.55")},
		{number(t, "1.5"), number(t, "1e37")},
		{number(t, "1"), text}, {text, number(t, "1")}, {text, json}, {json, text}, {truth, text}, {truth, number(t, "1")}, {number(t, "1"), truth},
	} {
		w := typesOf(series("a", row.collected)).NewWriter(io.Discard, arrowstream.Exact)
		if err := w.Add(series("a", row.collected, row.late)); !errors.Is(err, arrowstream.ErrChanged) {
			t.Errorf("%s after %s: %v", row.late, row.collected, err)
		}
	}
	w := typesOf(series("a", text)).NewWriter(io.Discard, arrowstream.Exact)
	if err := w.Add(series("b", text)); !errors.Is(err, arrowstream.ErrChanged) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("a new field: %v", err)
	}
	// A column of several kinds accepts values of all kinds, and a column of floats all numbers.
	w = typesOf(series("a", text, truth)).NewWriter(io.Discard, arrowstream.Exact)
	if err := w.Add(series("a", json, number(t, "1.55"))); err != nil {
		t.Error(err)
	}
	w = typesOf(series("a", number(t, "1"))).NewWriter(io.Discard, arrowstream.Floats)
	if err := w.Add(series("a", number(t, "1.55"))); err != nil {
		t.Error(err)
	}
}

// TestWriter_BoundsBatches checks that a batch has about 1 MiB, and that a wide schema is refused.
func TestWriter_BoundsBatches(t *testing.T) {
	var values []varve.Value
	for range 200 {
		values = append(values, varve.StringValue(strings.Repeat("x", 20_000)))
	}
	in, err := ipc.NewReader(bytes.NewReader(stream(t, series("a", values...), arrowstream.Exact)))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	var sizes []int64
	for in.Next() {
		sizes = append(sizes, in.RecordBatch().NumRows())
	}
	if fmt.Sprint(sizes) != "[64 64 64 8]" || in.Err() != nil {
		t.Error(sizes, in.Err())
	}
	types := arrowstream.NewTypeSet(nil)
	for i := range 4097 {
		if err := types.Check(); err != nil {
			t.Fatal(i, err)
		}
		r := series(fmt.Sprint("f", i), number(t, "1"))
		types.Add(&r[0])
	}
	if err := types.Check(); err == nil || !strings.Contains(err.Error(), "4097 fields") {
		t.Error(err)
	}
}

// TestWriter_WritesDevicesAndVersions writes changes of two devices, with a correction. The stream must have
// the columns device and _version, in the documented order.
func TestWriter_WritesDevicesAndVersions(t *testing.T) {
	readings := slices.Repeat(series("a", number(t, "1.5")), 3)
	for i := range readings {
		readings[i].Device = []string{"d2", "d1", "d2"}[i]
		readings[i].ID = varve.HashID(0)
		readings[i].Time = time.Unix(0, int64(i)).UTC()
	}
	readings[1].ID = readings[1].ID.WithVersion(7)
	types := typesOf(readings)
	types.IncludeDevice()
	var out bytes.Buffer
	w := types.NewWriter(&out, arrowstream.Floats)
	if err := errors.Join(w.Add(readings), w.Close()); err != nil {
		t.Fatal(err)
	}
	in, err := ipc.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	record, err := in.Read()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, f := range in.Schema().Fields() {
		text := f.Name
		for row := range int(record.NumRows()) {
			text += " " + record.Column(i).ValueStr(row)
		}
		got = append(got, text)
	}
	const id, at = "-----------", "1970-01-01T00:00:00.005Z"
	want := []string{
		"device d2 d1 d2",
		"time 1970-01-01T00:00:00Z 1970-01-01T00:00:00.000000001Z 1970-01-01T00:00:00.000000002Z",
		"id " + strings.Join([]string{id, id, id}, " "),
		"arrived " + strings.Join([]string{at, at, at}, " "),
		"_version (null) 7 (null)",
		"a 1.5 1.5 1.5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the stream has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
