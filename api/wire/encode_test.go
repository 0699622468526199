package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/decimal"
)

func anyValue(t *rapid.T) varve.Value {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,37})(e(-[1-9][0-9]?|[1-8][0-9]?))?|-?[0-9]\.[0-9]{1,37}`).Draw(t, "number")
		n, err := decimal.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return varve.NumberValue(n)
	case 1:
		return varve.StringValue(rapid.String().Draw(t, "text"))
	case 2:
		return varve.BoolValue(rapid.Bool().Draw(t, "bool"))
	default:
		v, err := varve.JSONValue([]byte(`{` + string(wire.AppendString(nil, rapid.String().Draw(t, "member"))) + `:[1.50,null,{"x":"` +
			rapid.StringMatching(`[a-z,ä ]*`).Draw(t, "text") + `"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// anyReading draws a reading of acme/weather/d1 in its stored form.
func anyReading(t *rapid.T) varve.Reading {
	r := varve.Reading{
		Series:  varve.Series{Tenant: "acme", Stream: "weather", Device: "d1"},
		Time:    time.Unix(0, rapid.Int64Range(0, varve.MaxTime-1).Draw(t, "time")).UTC(),
		Arrived: time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "arrived")).UTC(),
	}
	if rapid.Bool().Draw(t, "whole seconds") {
		r.Time = r.Time.Truncate(time.Second)
	}
	if rapid.Bool().Draw(t, "with an id") {
		id, err := varve.ParseID(rapid.StringMatching(`[a-z"\\,ä]{1,20}`).Draw(t, "id"))
		if err != nil {
			t.Fatal(err)
		}
		r.ID = id
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Zäö"\\,.:][a-z ]{0,5}[a-z]`), 1, 6, rapid.ID).Draw(t, "names") {
		r.Fields = append(r.Fields, varve.Field{Name: name, Value: anyValue(t)})
	}
	if v := r.Normalize(); v.Outcome != 0 {
		t.Fatalf("%s", v)
	}
	return r
}

// TestAnswers_RoundTrip checks that a client reads the readings of an answer unchanged, and that a
// server reads them unchanged when they are resent. All digits must stay the same.
func TestAnswers_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		readings := rapid.SliceOfN(rapid.Custom(anyReading), 1, 5).Draw(t, "readings")
		var w wire.Writer
		var ndjson, submission []byte
		var want, sent []string
		for i := range readings {
			r := &readings[i]
			ndjson = append(w.AppendReading(ndjson, r), '\n')
			submission = append(wire.AppendSubmission(submission, r), '\n')
			want = append(want, show(r))
			one, err := wire.ParseAnswer(wire.AppendReading(nil, r), r.Series)
			if err != nil || !one.Equal(r) || show(&one) != show(r) {
				t.Fatalf("%s came back as %s: %v", show(r), show(&one), err)
			}
			bare := r.Clone()
			bare.Arrived = time.Time{}
			sent = append(sent, show(&bare))
		}
		var b wire.Batch
		in := wire.NewAnswerReader(iotest.HalfReader(strings.NewReader(string(ndjson))), readings[0].Series)
		if err := in.Read(&b); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		sameTexts(t, texts(batchOutcomes(&b)), want)
		sameTexts(t, texts(mustRead(t, wire.NDJSON, string(submission))), sent)
		array := "[" + strings.ReplaceAll(strings.TrimSpace(string(submission)), "\n", ",") + "]"
		sameTexts(t, texts(mustRead(t, wire.JSON, array)), sent)
	})
}

// TestRowWriter_RoundTrips checks that reading CSV restores the written readings, with the kinds of all
// values, but without the arrivals. It omits fields with reserved names.
func TestRowWriter_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		readings := rapid.SliceOfN(rapid.Custom(anyReading), 1, 5).Draw(t, "readings")
		var set wire.FieldSet
		var want []string
		for i := range readings {
			r := &readings[i]
			var kept []varve.Field
			for _, f := range r.Fields {
				if f.Name != "id" && f.Name != "time" && f.Name != "device" {
					kept = append(kept, f)
				}
			}
			r.Fields = kept
			if len(kept) > 0 {
				set.Add(r)
				bare := r.Clone()
				bare.Arrived = time.Time{}
				want = append(want, show(&bare))
			}
		}
		var table wire.RowWriter
		table.SetColumns(&set)
		csv := table.AppendHeader(nil)
		for i := range readings {
			var missing string
			if len(readings[i].Fields) == 0 {
				continue
			}
			if csv, missing = table.AppendRow(csv, &readings[i]); missing != "" {
				t.Fatalf("%q is missing", missing)
			}
		}
		d := defaults()
		d.Device = "d1"
		sameTexts(t, texts(readCSV(t, string(csv), d, wire.Columns{})), want)
	})
}

// TestRowWriter_ReportsMissingColumn checks the cells of a row, and the name of a field that has no column.
// Some cases also have columns without a field: before, between and after the fields of the reading.
func TestRowWriter_ReportsMissingColumn(t *testing.T) {
	r := varve.Reading{Fields: []varve.Field{{Name: "b", Value: varve.IntValue(1)}, {Name: "d", Value: varve.IntValue(2)}}}
	rows := []struct{ columns, missing, cells string }{
		{"b d", "", ",1,2"}, {"a b c d e", "", ",,1,,2,"}, {"b", "d", ",1"}, {"d", "b", ",2"}, {"c", "d", ","}, {"", "b", ""}, {"e", "d", ","},
	}
	for _, row := range rows {
		table := wire.RowWriter{Fields: strings.Fields(row.columns)}
		line, missing := table.AppendRow(nil, &r)
		cells := strings.TrimSuffix(strings.SplitAfterN(string(line), "Z", 3)[2], "\r\n")
		if missing != row.missing || cells != row.cells {
			t.Errorf("columns %q: missing %q, cells %q", row.columns, missing, cells)
		}
	}
}

// TestAppendString_WritesValidJSON checks that JSON parsers restore any string, and that invalid
// UTF-8 does not break an answer.
func TestAppendString_WritesValidJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			s = rapid.String().Draw(t, "text")
		}
		text := wire.AppendString(nil, s)
		var back string
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && back != want {
			t.Fatalf("%q came back as %q", s, back)
		}
		if !utf8.Valid(text) || strings.ContainsAny(string(text), "\n\r") {
			t.Fatalf("%q", text)
		}
	})
}

func TestAnswerReader_RejectsOtherBodies(t *testing.T) {
	series := varve.Series{Tenant: "acme", Stream: "weather", Device: "d1"}
	for _, text := range []string{"", "null", "{", `{"time":1}`, `{"time":"2026-01-01T00:00:00Z","arrived":7,"fields":{}}`, `{"time":"x"}`} {
		if r, err := wire.ParseAnswer([]byte(text), series); err == nil {
			t.Errorf("%q is %s", text, show(&r))
		}
	}
	one := `{"time":"2026-01-01T00:00:00Z","id":"x","arrived":"2026-01-01T00:00:01Z","fields":{"a":1}}` + "\n"
	in := wire.NewAnswerReader(strings.NewReader(one+"{\n"), series)
	if err := in.Read(new(wire.Batch)); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

// TestRowWriter_RenamesReservedFields checks that column names are unique, and that fields regain
// their names.
func TestRowWriter_RenamesReservedFields(t *testing.T) {
	names := []string{"arrived", "fields.id", "fields.x", "id", "time", "times"}
	table := wire.RowWriter{Fields: names}
	out := string(table.AppendHeader(nil))
	if want := "time,id,arrived,fields.arrived,fields.fields.id,fields.x,fields.id,fields.time,times\r\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	d := defaults()
	d.Device = "d1"
	all := readCSV(t, out+"1475001526000,,2026-01-01T00:00:00Z,1,2,3,4,5,6\r\n", d, wire.Columns{})
	if got, want := fields(&all[0].reading), fields(&varve.Reading{Fields: []varve.Field{
		{Name: "arrived", Value: varve.IntValue(1)}, {Name: "fields.id", Value: varve.IntValue(2)}, {Name: "fields.x", Value: varve.IntValue(3)},
		{Name: "id", Value: varve.IntValue(4)}, {Name: "time", Value: varve.IntValue(5)}, {Name: "times", Value: varve.IntValue(6)},
	}}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
