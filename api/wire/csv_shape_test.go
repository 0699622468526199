package wire_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// shaped returns each reading as line:device@time fields, and each rejected one as line:code.
func shaped(all []outcome) string {
	var parts []string
	for _, o := range all {
		if o.verdict.Outcome == varve.Rejected {
			parts = append(parts, fmt.Sprintf("%d:%s", o.line, o.verdict.Code))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d:%s@%s %s", o.line, o.reading.Device, o.reading.Time.Format("15:04"), fields(&o.reading)))
	}
	return strings.Join(parts, "; ")
}

var shapes = []struct {
	reason  string
	columns wire.Columns
	body    string
	want    string
}{
	{
		"consecutive rows of the long form are one reading", wire.Columns{Name: "metric", Value: "value"},
		"device,time,metric,value\nd1,2026-04-20T14:00:00Z,t,22.40\nd1,2026-04-20T14:00:00Z,h,45\nd2,2026-04-20T14:00:00Z,t,1\nd2,2026-04-20T14:05:00Z,t,2\n",
		"2:d1@14:00 h=number(45) t=number(22.40); 4:d2@14:00 t=number(1); 5:d2@14:05 t=number(2)",
	},
	{
		"a repeated name begins another reading", wire.Columns{Name: "metric", Value: "value"},
		"device,time,metric,value\nd1,2026-04-20T14:00:00Z,t,1\nd1,2026-04-20T14:00:00Z,t,2\n",
		"2:d1@14:00 t=number(1); 3:d1@14:00 t=number(2)",
	},
	{
		"further columns are named after the field", wire.Columns{Name: "metric", Value: "value"},
		"time,device,metric,value,unit\n2026-04-20T14:00:00Z,d1,t,1,C\n2026-04-20T14:00:00Z,d1,h,2,\n",
		"2:d1@14:00 h=number(2) t=number(1) t.unit=string(C)",
	},
	{
		"an empty value adds no further columns", wire.Columns{Name: "metric", Value: "value", Nulls: []string{"-"}},
		"time,device,metric,value,unit\n2026-04-20T14:00:00Z,d1,t,,C\n2026-04-20T14:00:00Z,d1,h,2,%\n2026-04-20T14:00:00Z,d1,p,-,hPa\n2026-04-20T15:00:00Z,d1,t,,C\n",
		"2:d1@14:00 h=number(2) h.unit=string(%); 5:field_invalid",
	},
	{
		"a value in a column without a name is rejected", wire.Columns{},
		"time,device,a,\n2026-04-20T14:00:00Z,d1,1,\n2026-04-20T14:00:00Z,d1,1,2\n",
		"2:d1@14:00 a=number(1); 3:field_invalid",
	},
	{
		"a value of a device without a name is rejected", wire.Columns{DeviceColumns: "t"},
		"time,hall,\n2026-04-20T14:00:00Z,1,\n2026-04-20T14:05:00Z,2,3\n",
		"2:hall@14:00 t=number(1); 3:hall@14:05 t=number(2); 3:device_invalid",
	},
	{
		"a bad row ends a reading, and an empty value adds nothing", wire.Columns{Name: "metric", Value: "value"},
		"device,time,metric,value\nd1,2026-04-20T14:00:00Z,t,1\nd1,x\nd1,2026-04-20T14:00:00Z,h,2\nd1,2026-04-20T14:00:00Z,x,\nd1,2026-04-20T14:00:00Z,,3\n",
		"2:d1@14:00 t=number(1); 3:malformed; 4:field_invalid",
	},
	{
		"a bad cell rejects its reading", wire.Columns{Name: "metric", Value: "value"},
		"device,time,metric,value\nd1,2026-04-20T14:00:00Z,t,NaN\nd1,2026-04-20T14:00:00Z,h,2\n",
		"2:field_invalid",
	},
	{
		"a bad cell is skipped", wire.Columns{Name: "metric", Value: "value", SkipBadCells: true},
		"device,time,metric,value\nd1,2026-04-20T14:00:00Z,t,NaN\nd1,2026-04-20T14:00:00Z,h,2\n",
		"2:d1@14:00 h=number(2)",
	},
	{
		"columns are devices", wire.Columns{DeviceColumns: "t"},
		"time,hall 1,hall 2,device\n2026-04-20T14:00:00Z,1,,3\n2026-04-20T14:05:00Z,4,5,\nnever,6,,\n",
		"2:hall 1@14:00 t=number(1); 2:device@14:00 t=number(3); 3:hall 1@14:05 t=number(4); 3:hall 2@14:05 t=number(5); 4:time_invalid",
	},
	{
		"nulls", wire.Columns{Nulls: []string{"NaN", "N/A", "-"}},
		"time,device,a,b,c\n2026-04-20T14:00:00Z,d1,NaN,-,-1\n2026-04-20T14:00:00Z,N/A,1,2,3\n",
		"2:d1@14:00 c=number(-1); 3:device_invalid",
	},
	{
		"a decimal comma", wire.Columns{Delimiter: ';', Decimal: ','},
		"time;device;a;b;c;d\n2026-04-20T14:00:00Z;d1;1,50;-0,5;20.04.2026;x,y\n2026-04-20T14:00:00Z;d1;1.5;;;\n2026-04-20T14:00:00Z;d1;7;1,2,3;;\n",
		"2:d1@14:00 a=number(1.50) b=number(-0.5) c=string(20.04.2026) d=string(x,y); 3:field_invalid; 4:d1@14:00 a=number(7) b=string(1,2,3)",
	},
	{
		"bad cells are skipped", wire.Columns{SkipBadCells: true, Kinds: map[string]varve.Kind{"b": varve.KindNumber}},
		"time,device,a,b\n2026-04-20T14:00:00Z,d1,1,x\n2026-04-20T14:00:00Z,d1,NaN,1e999\nnever,d1,1,2\n",
		"2:d1@14:00 a=number(1); 3:field_invalid; 4:time_invalid",
	},
}

func TestCSV_ReadsShapes(t *testing.T) {
	for _, tt := range shapes {
		if got := shaped(readCSV(t, tt.body, defaults(), tt.columns)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.reason, got, tt.want)
		}
	}
}

func TestCSV_CountsSkippedCells(t *testing.T) {
	body := "time,device,a,b\n2026-04-20T14:00:00Z,d1,NaN,1\n2026-04-20T14:00:00Z,d1,inf,-inf\n"
	r, err := wire.NewReader(new(wire.Memory), wire.CSV, strings.NewReader(body), defaults(), wire.Columns{SkipBadCells: true})
	if err != nil {
		t.Fatal(err)
	}
	var b wire.Batch
	if err := r.Read(&b); err != io.EOF || b.SkippedCells != 3 { //nolint:errorlint // Read returns io.EOF itself
		t.Errorf("%d skipped cells, %v", b.SkippedCells, err)
	}
	if b.Reset(); b.SkippedCells != 0 {
		t.Errorf("%d skipped cells after a reset", b.SkippedCells)
	}
}

// TestCSV_CountsTextNumbers checks that cells that look like numbers are counted if they are read as
// text. Thousands separators must be rejected where numbers have a decimal comma.
func TestCSV_CountsTextNumbers(t *testing.T) {
	for _, tt := range []struct {
		cell    string
		columns wire.Columns
		texts   int64
		says    string
	}{
		{"1,50", wire.Columns{}, 1, ""},
		{"-1.234,50", wire.Columns{}, 1, ""},
		{"1,234.50", wire.Columns{}, 1, ""},
		{"1,50", wire.Columns{Kinds: map[string]varve.Kind{"a": varve.KindString}}, 0, ""},
		{"1.50", wire.Columns{}, 0, ""},
		{"20.04.2026", wire.Columns{}, 0, ""},
		{"a,b", wire.Columns{}, 0, ""},
		{"1,", wire.Columns{}, 0, ""},
		{"1,50", wire.Columns{Decimal: ','}, 0, ""},
		{"1,2,3", wire.Columns{Decimal: ','}, 1, ""},
		{"1.234,50", wire.Columns{Decimal: ','}, 0, "thousands separators are not read"},
		{"1,234.50", wire.Columns{Decimal: ','}, 0, "thousands separators are not read"},
	} {
		tt.columns.Delimiter = ';'
		r, err := wire.NewReader(new(wire.Memory), wire.CSV, strings.NewReader("time;device;a\n2026-04-20T14:00:00Z;d1;"+tt.cell+"\n"), defaults(), tt.columns)
		if err != nil {
			t.Fatal(err)
		}
		var b wire.Batch
		if err := r.Read(&b); err != io.EOF || b.TextNumbers != tt.texts || !strings.Contains(b.Verdicts[0].Message, tt.says) { //nolint:errorlint // Read returns io.EOF itself
			t.Errorf("%s, %+v: %d texts, %v, %v; want %d and %q", tt.cell, tt.columns, b.TextNumbers, err, b.Verdicts[0], tt.texts, tt.says)
		}
	}
}

// TestCSV_KeepsReadingsOfLongFormWhole checks that the rows of one reading are in one batch, and in one
// piece of a file. The long form of CSV has a row for each field. AtLine must find the reading of each
// line of a piece.
func TestCSV_KeepsReadingsOfLongFormWhole(t *testing.T) {
	columns := wire.Columns{Name: "metric", Value: "value"}
	var body strings.Builder
	body.WriteString("device,time,metric,value\n")
	const readings = wire.BatchReadings + 10
	for i := range readings {
		for _, name := range []string{"a", "b", "c"} {
			fmt.Fprintf(&body, "d1,%d,%s,%d\n", 1_475_001_526_000+i, name, i)
		}
	}
	whole := readCSV(t, body.String(), defaults(), columns)
	if len(whole) != readings {
		t.Fatalf("%d readings, want %d", len(whole), readings)
	}
	s, err := wire.NewSplitter(wire.CSV, strings.NewReader(body.String()), columns, 7, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []outcome
	for {
		p, err := s.Next()
		if err == io.EOF { //nolint:errorlint // Next returns io.EOF itself
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		part := readCSV(t, string(p.Data), defaults(), columns)
		for i, o := range part {
			if at := p.AtLine(int64(o.line)); at != i {
				t.Fatalf("line %d of a piece is in reading %d, want %d", o.line, at, i)
			}
		}
		pieces = append(pieces, part...)
	}
	sameTexts(t, texts(pieces), texts(whole))
	for i, o := range whole {
		if got, want := fields(&o.reading), fmt.Sprintf("a=number(%d) b=number(%d) c=number(%d)", i, i, i); got != want {
			t.Fatalf("reading %d: %s, want %s", i, got, want)
		}
	}
}

// TestReaders_UseArrival checks that in JSON, NDJSON and CSV, readings without a time get their arrival
// as event time, if the write allows it.
func TestReaders_UseArrival(t *testing.T) {
	d := defaults()
	d.Arrival = time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		format wire.Format
		body   string
		want   string
	}{
		{wire.JSON, `[{"device":"d1","fields":{"a":1}},{"device":"d1","time":null,"fields":{"a":2}},{"device":"d1","time":"2026-04-20T15:00:00Z","fields":{"a":3}},{"device":"d1","time":"x","fields":{"a":4}}]`,
			"0:d1@14:00 a=number(1); 0:d1@14:00 a=number(2); 0:d1@15:00 a=number(3); 0:time_invalid"},
		{wire.NDJSON, `{"device":"d1","fields":{"a":1}}`, "1:d1@14:00 a=number(1)"},
		{wire.CSV, "device,a\nd1,1\n", "2:d1@14:00 a=number(1)"},
		{wire.CSV, "time,device,a\n,d1,1\n2026-04-20T15:00:00Z,d1,2\n", "2:d1@14:00 a=number(1); 3:d1@15:00 a=number(2)"},
	} {
		all, err := drain(new(wire.Memory), new(wire.Batch), tt.format, strings.NewReader(tt.body), d, wire.Columns{})
		if got := shaped(all); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.body, got, err, tt.want)
		}
	}
}

func TestJSON_ReadsFlatObjects(t *testing.T) {
	d := defaults()
	d.Flat = true
	for _, tt := range []struct{ body, want string }{
		{`{"device":"d1","time":"2026-04-20T14:00:00Z","temp":21.50,"ok":true,"note":null,"at":{"x":1}}`, "0:d1@14:00 at=JSON({\"x\":1}) ok=boolean(true) temp=number(21.50)"},
		{`{"device":"d1","time":"2026-04-20T14:00:00Z","stream":"weather","fields":{"a":1},"arrived":5}`, "0:d1@14:00 arrived=number(5) fields=JSON({\"a\":1})"},
		{`{"device":"d1","time":"2026-04-20T14:00:00Z","stream":"other","a":1}`, "0:stream_invalid"},
		{`{"device":"d1","time":"2026-04-20T14:00:00Z","a":1,"a":2}`, "0:field_invalid"},
		{`{"device":"d1","time":"2026-04-20T14:00:00Z"}`, "0:field_invalid"},
		{`{"device":"d1","a":1}`, "0:time_missing"},
		{`{"device":"d1","time":"2026-04-20T14:00:00Z","a":1e999}`, "0:field_invalid"},
	} {
		all, err := drain(new(wire.Memory), new(wire.Batch), wire.JSON, strings.NewReader(tt.body), d, wire.Columns{})
		if got := shaped(all); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.body, got, err, tt.want)
		}
	}
	flat := mustRead(t, wire.JSON, `{"device":"d1","time":"2026-04-20T14:00:00Z","temp":21.5}`)
	if got := flat[0].verdict; got.Code != varve.CodeMalformed || !strings.Contains(got.Message, "fields=flat") {
		t.Errorf("without the parameter: %s", got)
	}
}

// TestParse_ChoosesLocalTimes checks local times that occur twice, never and once around a change of
// clocks.
func TestParse_ChoosesLocalTimes(t *testing.T) {
	lordHowe, err := time.LoadLocation("Australia/Lord_Howe") // clocks change by half an hour
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		zone                     *time.Location
		text                     string
		rejected, earlier, later string
	}{
		{berlin, "2026-10-25T02:30:00", "occurs twice in Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{berlin, "2026-10-25 02:00", "occurs twice", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{berlin, "2026-10-25T01:59:59.999", "2026-10-24T23:59:59.999Z", "2026-10-24T23:59:59.999Z", "2026-10-24T23:59:59.999Z"},
		{berlin, "2026-10-25T03:00:00", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"},
		{berlin, "2026-03-29T02:30:00", "never occurs in Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
		{berlin, "2026-03-29T01:59:59", "2026-03-29T00:59:59Z", "2026-03-29T00:59:59Z", "2026-03-29T00:59:59Z"},
		{berlin, "2026-03-29T03:00:00", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"},
		{berlin, "2026-10-25T02:30:00+02:00", "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z"},
		{lordHowe, "2026-04-05T01:45:00", "occurs twice", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"},
		{lordHowe, "2026-10-04T02:15:00", "never occurs", "2026-10-03T15:15:00Z", "2026-10-03T15:45:00Z"},
		{time.UTC, "2026-10-25T02:30:00", "2026-10-25T02:30:00Z", "2026-10-25T02:30:00Z", "2026-10-25T02:30:00Z"},
	} {
		for choice, want := range []string{tt.rejected, tt.earlier, tt.later} {
			at, v := wire.TimeFormat{Location: tt.zone, Choice: wire.LocalChoice(choice)}.Parse(tt.text)
			if v.Outcome == varve.Rejected {
				if !strings.Contains(v.Message, want) || !strings.Contains(v.Message, "dst=earlier") {
					t.Errorf("%s: %s, want %s", tt.text, v, want)
				}
				continue
			}
			if got := string(wire.AppendTime(nil, at)); got != want {
				t.Errorf("%s, choice %d: %s, want %s", tt.text, choice, got, want)
			}
		}
	}
}

// FuzzCSVShapes checks that a body in the long form has the same readings as its pieces. Bodies with
// devices as columns, nulls or decimal commas cause no panic.
func FuzzCSVShapes(f *testing.F) {
	for _, tt := range shapes {
		f.Add(tt.body)
	}
	const row = "d,2026-04-20T14:00:00Z,"
	f.Add("device,time,metric,value\n" + row + "a,1\n" + row + "a,2\n" + row + "b,3\n\n \n" + row + "c,4\n\n" + row + "d,5")
	f.Fuzz(func(t *testing.T, body string) {
		for _, c := range []wire.Columns{{DeviceColumns: "t", Nulls: []string{"-"}, SkipBadCells: true}, {Delimiter: ';', Decimal: ','}} {
			// The body may be invalid: here only a panic is a failure.
			_, _ = drain(new(wire.Memory), new(wire.Batch), wire.CSV, strings.NewReader(body), defaults(), c)
		}
		columns := wire.Columns{Name: "metric", Value: "value"}
		whole, err := drain(new(wire.Memory), new(wire.Batch), wire.CSV, strings.NewReader(body), defaults(), columns)
		if err != nil {
			return
		}
		s, err := wire.NewSplitter(wire.CSV, strings.NewReader(body), columns, 2, 64)
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		var pieces []outcome
		for {
			p, err := s.Next()
			if err != nil {
				break
			}
			for range p.Rejects {
				pieces = append(pieces, outcome{verdict: varve.Reject(varve.CodeTooLarge, "")})
			}
			if p.Len() > 0 {
				pieces = append(pieces, readCSV(t, string(p.Data), defaults(), columns)...)
			}
		}
		sameTexts(t, texts(pieces), texts(whole))
	})
}
