package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// at is the end of a point: a space and the time in nanoseconds.
const at = " 1475001526000000000"

// readLines reads line protocol whose measurements are the streams.
func readLines(t tester, body string, m *wire.LineMapping) []outcome {
	t.Helper()
	d := wire.Defaults{Tenant: "acme", Lines: m}
	all, err := drain(new(wire.Memory), new(wire.Batch), wire.Line, strings.NewReader(body), d, wire.Columns{})
	if err != nil {
		t.Fatalf("%.200q: %v", body, err)
	}
	return all
}

// TestLine_AssignsTags checks the device and the labels of points with each mapping.
func TestLine_AssignsTags(t *testing.T) {
	series := &wire.LineMapping{Device: []string{"device", "host"}}
	fields := &wire.LineMapping{Device: []string{"host"}, TagFields: true}
	mixed := &wire.LineMapping{Device: []string{"host"}, FieldTags: []string{"fw"}}
	rows := []struct {
		mapping    *wire.LineMapping
		tags, want string
	}{
		{nil, "device=d1", "d1 v=1"},
		{nil, "host=h,device_id=x", "x;host=h v=1"},
		{series, "host=h,device=d", "d;host=h v=1"},
		{series, "host=h", "h v=1"},
		{series, "z=2,host=h,a=1", "h;a=1;z=2 v=1"},
		{series, `host=a;b\=c%,x\ y=p\,q\=r`, "a%3Bb%3Dc%25;x y=p,q%3Dr v=1"},
		{series, "host=a;b", "a;b v=1"},
		{fields, "z=2,host=h,a=1", "h tag.a=1 tag.z=2 v=1"},
		{mixed, "fw=1.2,host=h,a=1", "h;a=1 tag.fw=1.2 v=1"},
	}
	for _, row := range rows {
		o := readLines(t, "weather,"+row.tags+" v=1"+at, row.mapping)[0]
		got := o.reading.Device
		for _, f := range o.reading.Fields {
			got += " " + f.Name + "=" + f.Value.String()
		}
		if o.verdict.Outcome != 0 || got != row.want || o.reading.Stream != "weather" {
			t.Errorf("%s is %q, want %q: %s", row.tags, got, row.want, o.verdict)
		}
	}
}

// TestLine_RejectsPoints checks the codes and messages of invalid points. The points around them
// must be read.
func TestLine_RejectsPoints(t *testing.T) {
	rows := []struct{ line, code, says string }{
		{"weather v=1" + at, "device_invalid", "device, device_id, deviceId, sensor, sensor_id, host"},
		{"weather,site=x v=1" + at, "device_invalid", "set influx.device"},
		{"my\\ weather,device=d v=1" + at, "stream_invalid", "my weather"},
		{"weather,device=d", "malformed", "no fields"},
		{"weather,device=d ", "malformed", "ends in place of a field"},
		{"weather,device= v=1", "malformed", "has no value"},
		{"weather,device=d,device=e v=1", "malformed", "occurs twice"},
		{"weather,device=d v", "malformed", "no = follows"},
		{"weather,device=d v=", "malformed", "in place of a value"},
		{"weather,device=d v=abc" + at, "malformed", "strings are quoted"},
		{"weather,device=d v=tru" + at, "malformed", "not a boolean"},
		{"weather,device=d v=1..2" + at, "malformed", "not a number"},
		{"weather,device=d v=1 yesterday", "malformed", "in place of a time"},
		{"weather,device=d v=1 1.5", "malformed", "in place of a time"},
		{"weather,device=d v=\"open" + at, "malformed", "a quote is not closed"},
		{"weather,device=d v=NaN" + at, "field_invalid", "leave the field out"},
		{"weather,device=d v=-inf" + at, "field_invalid", "leave the field out"},
		{"weather,device=d v=9223372036854775808i" + at, "field_invalid", "64-bit integer"},
		{"weather,device=d v=18446744073709551616u" + at, "field_invalid", "unsigned 64-bit integer"},
		{"weather,device=d v=1e300" + at, "field_invalid", "field \"v\": 1e300"},
		{"weather,device=d v=1,v=2" + at, "field_invalid", "occurs twice"},
		{"weather,device=d _v=1" + at, "field_invalid", "reserved"},
		{"weather,device=d v=1 1475001526", "time_unit", "looks like seconds"},
		{"weather,device=d v=1 -5", "time_too_old", "-5"},
		{"weather,device=d v=1", "time_missing", "no time"},
		{"weather,device=d v=\"" + repeat("x", 600<<10) + "\"" + at, "too_large", "longer than"},
	}
	good := "weather,device=d1 a=1" + at + "\n"
	for _, row := range rows {
		all := readLines(t, good+row.line+"\n"+good, nil)
		if got, want := codes(all), "1:ok 2:"+row.code+" 3:ok"; got != want {
			t.Errorf("%.80q: %s, want %s: %v", row.line, got, want, all)
			continue
		}
		if m := all[1].verdict.Message; !strings.Contains(m, row.says) {
			t.Errorf("%.80q: %q lacks %q", row.line, m, row.says)
		}
		checkMessages(t, all)
	}
}

// TestLine_KeepsDigits checks that numbers do not pass through a float.
func TestLine_KeepsDigits(t *testing.T) {
	rows := map[string]string{
		"22.40": "22.40", "9007199254740993i": "9007199254740993", "18446744073709551615u": "18446744073709551615", "-9223372036854775808i": "-9223372036854775808",
		"12345678901234567890123456789012345678": "12345678901234567890123456789012345678", "0.1234567890123456789": "0.1234567890123456789",
		"1.0e3": "1000", "007": "7", ".5": "0.5", "5.": "5", "-.25": "-0.25", "1e-7": "1e-7", "-0i": "0",
	}
	for sent, want := range rows {
		o := readLines(t, "weather,device=d v="+sent+at, nil)[0]
		want := readOne(t, want)
		if got := o.reading.Field("v"); o.verdict.Outcome != 0 || !got.Equal(want) || sent == "22.40" && got.String() != sent {
			t.Errorf("%s is %s, want %s: %s", sent, got, want, o.verdict)
		}
	}
}

// readOne returns the value of a number in a reading of NDJSON.
func readOne(t tester, number string) varve.Value {
	t.Helper()
	r := mustRead(t, wire.NDJSON, object(`{"a":`+number+`}`))[0].reading
	return r.Field("a")
}

// TestLine_ReadsTimes checks units, and points without a time.
func TestLine_ReadsTimes(t *testing.T) {
	want := time.Date(2016, 9, 27, 18, 0, 0, 0, time.UTC)
	units := map[wire.Precision]time.Duration{
		0: 1, wire.Nanoseconds: 1, wire.Microseconds: time.Microsecond, wire.Milliseconds: time.Millisecond,
		wire.Seconds: time.Second, 60 * wire.Seconds: time.Minute, 3600 * wire.Seconds: time.Hour,
	}
	read := func(p wire.Precision, stamp string) outcome {
		d := wire.Defaults{Tenant: "acme", Time: wire.TimeFormat{Precision: p}, Now: func() time.Time { return want.Add(1) }}
		all, err := drain(new(wire.Memory), new(wire.Batch), wire.Line, strings.NewReader("weather,device=d v=1 "+stamp), d, wire.Columns{})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	for p, unit := range units {
		for _, precision := range []wire.Precision{p, wire.LineAuto} {
			if unit > time.Second && precision == wire.LineAuto {
				continue
			}
			if o := read(precision, fmt.Sprint(want.UnixNano()/int64(unit))); !o.reading.Time.Equal(want) {
				t.Errorf("in units of %s: %s %s", unit, o.reading.Time, o.verdict)
			}
		}
	}
	if o := read(0, ""); !o.reading.Time.Equal(want) {
		t.Errorf("without a time: %s, want the arrival in milliseconds: %s", o.reading.Time, o.verdict)
	}
	if o := read(3600*wire.Seconds, "1"); o.verdict.Code != varve.CodeTimeTooOld {
		t.Errorf("the first hour: %s", o.verdict)
	}
}

// TestLine_ReadsStringsOverLines checks that a string may span lines, and that a quote without an end
// makes only one line invalid.
func TestLine_ReadsStringsOverLines(t *testing.T) {
	body := "weather,device=d v=\"a\nb \\\" c\n\",w=1" + at + "\n# \" \n\nweather,device=d v=\"open" + at + "\nweather,device=d v=2" + at + "\n" +
		"weather,device=5\" v=3" + at + "\nweather,device=d v=\"never closed"
	all := readLines(t, body, nil)
	if got := codes(all); got != "1:ok 6:malformed 7:ok 8:ok 9:malformed" {
		t.Fatal(got)
	}
	if got := all[0].reading.Field("v").Text(); got != "a\nb \" c\n" {
		t.Errorf("%q", got)
	}
	checkPieces(t, wire.Line, body, wire.Columns{}, 2, 60)
}

// TestLine_ForgetsOtherMappings checks that a reader with reused memory does not use the series of
// another mapping.
func TestLine_ForgetsOtherMappings(t *testing.T) {
	mem, b := new(wire.Memory), new(wire.Batch)
	var got []string
	for _, d := range []wire.Defaults{
		{Tenant: "a"}, {Tenant: "b"}, {Tenant: "a", Stream: "s"}, {Tenant: "a", Lines: &wire.LineMapping{Device: []string{"site"}}}, {Tenant: "a"},
	} {
		all, err := drain(mem, b, wire.Line, strings.NewReader("weather,device=d,site=x v=1"+at), d, wire.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, all[0].reading.Series.String())
	}
	want := []string{"a/weather/d;site=x", "b/weather/d;site=x", "a/s/d;site=x", "a/weather/x;device=d", "a/weather/d;site=x"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBatch_KeepsTextsOfLines checks the texts of points, with a line between them that is too long.
func TestBatch_KeepsTextsOfLines(t *testing.T) {
	lines := []string{"weather,device=d v=1", "bad", "weather,device=d v=\"" + repeat("x", 600<<10), "weather,device=d v=\"a\nb\""}
	r, err := wire.NewReader(new(wire.Memory), wire.Line, strings.NewReader(strings.Join(lines, "\r\n")), wire.Defaults{}, wire.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	var b wire.Batch
	_ = r.Read(&b) // ends with io.EOF
	lines[2] = ""
	for i, want := range lines {
		if got := string(b.Text(i)); got != want {
			t.Errorf("the text of point %d is %.80q, want %q", i, got, want)
		}
	}
	if b.Text(len(lines)) != nil {
		t.Error("a point too many has a text")
	}
}
