package wire_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/decimal"
)

var berlin = func() *time.Location {
	l, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return l
}()

// times has texts with the settings to parse them and the expected results: a time in UTC, or
// a code and part of the message.
var times = []struct {
	text   string
	format wire.TimeFormat
	want   string
}{
	{"2026-04-20T14:00:00Z", wire.TimeFormat{}, "2026-04-20T14:00:00Z"},
	{"2026-04-20T14:00:00z", wire.TimeFormat{}, "time_invalid 2026-04-20T14:00:00z"},
	{"2026-04-20T16:00:00+02:00", wire.TimeFormat{}, "2026-04-20T14:00:00Z"},
	{"2026-04-20 16:00:00+02:00", wire.TimeFormat{}, "2026-04-20T14:00:00Z"},
	{"2026-04-20T14:00:00.123456789Z", wire.TimeFormat{}, "2026-04-20T14:00:00.123456789Z"},
	{"2026-04-20T14:00:00.1234567891Z", wire.TimeFormat{}, "time_invalid finer than a nanosecond"},
	{"2026-04-20T14:00:00", wire.TimeFormat{}, "2026-04-20T14:00:00Z"},
	{"2026-04-20 14:00", wire.TimeFormat{}, "2026-04-20T14:00:00Z"},
	{"2026-04-20", wire.TimeFormat{}, "2026-04-20T00:00:00Z"},
	{"2026-04-20", wire.TimeFormat{Location: berlin}, "2026-04-19T22:00:00Z"},
	{"2026-01-20 14:00:00.5", wire.TimeFormat{Location: berlin}, "2026-01-20T13:00:00.5Z"},
	{"2026-04-20T14:00:00Z", wire.TimeFormat{Location: berlin}, "2026-04-20T14:00:00Z"},
	{"2026-02-29T00:00:00Z", wire.TimeFormat{}, "time_invalid RFC 3339"},
	{"2026-04-20T24:00:00Z", wire.TimeFormat{}, "time_invalid RFC 3339"},
	{"20.04.2026", wire.TimeFormat{}, "time_invalid 20.04.2026"},
	{"04/20/2026", wire.TimeFormat{}, "time_invalid RFC 3339"},
	{"now", wire.TimeFormat{}, "time_invalid RFC 3339"},
	{"", wire.TimeFormat{}, "time_missing empty"},
	{"1970-01-01T00:00:00Z", wire.TimeFormat{}, "1970-01-01T00:00:00Z"},
	{"1969-12-31T23:59:59.999999999Z", wire.TimeFormat{}, "time_too_old 1970"},
	{"2262-04-11T23:47:16.854775806Z", wire.TimeFormat{}, "2262-04-11T23:47:16.854775806Z"},
	{"2262-04-11T23:47:16.854775807Z", wire.TimeFormat{}, "time_in_future 2262"},
	{"9999-01-01T00:00:00Z", wire.TimeFormat{}, "time_in_future 2262"},

	{"1475001526000", wire.TimeFormat{}, "2016-09-27T18:38:46Z"},
	{"1475001526", wire.TimeFormat{Precision: wire.Seconds}, "2016-09-27T18:38:46Z"},
	{"1475001526000000", wire.TimeFormat{Precision: wire.Microseconds}, "2016-09-27T18:38:46Z"},
	{"1475001526000000001", wire.TimeFormat{Precision: wire.Nanoseconds}, "2016-09-27T18:38:46.000000001Z"},
	{"1475001526.5", wire.TimeFormat{Precision: wire.Seconds}, "2016-09-27T18:38:46.5Z"},
	{"1475001526123.456789", wire.TimeFormat{}, "2016-09-27T18:38:46.123456789Z"},
	{"1.475001526e9", wire.TimeFormat{Precision: wire.Seconds}, "2016-09-27T18:38:46Z"},
	{"1.475001526E+12", wire.TimeFormat{}, "2016-09-27T18:38:46Z"},
	{"1475001526123.4567891", wire.TimeFormat{}, "time_invalid finer than a nanosecond"},
	{"1475001526000000001.5", wire.TimeFormat{Precision: wire.Nanoseconds}, "time_invalid finer than a nanosecond"},
	{"1475001526", wire.TimeFormat{}, "time_unit 1475001526 looks like seconds: send milliseconds or precision=s"},
	{"1475001526000000", wire.TimeFormat{}, "time_unit looks like microseconds: send milliseconds or precision=us"},
	{"1475001526000", wire.TimeFormat{Precision: wire.Seconds}, "time_unit looks like milliseconds: send precision=ms"},
	{"1475001526", wire.TimeFormat{Precision: wire.Nanoseconds}, "time_unit looks like seconds: send precision=s"},
	{"1475001526000000000", wire.TimeFormat{}, "time_unit looks like nanoseconds: send milliseconds or precision=ns"},
	{"0", wire.TimeFormat{}, "1970-01-01T00:00:00Z"},
	{"0", wire.TimeFormat{Precision: wire.Nanoseconds}, "1970-01-01T00:00:00Z"},
	{"0.0", wire.TimeFormat{Precision: wire.Seconds}, "1970-01-01T00:00:00Z"},
	{"1", wire.TimeFormat{}, "time_too_old RFC 3339"},
	{"2016-12-31T23:59:60Z", wire.TimeFormat{}, "2017-01-01T00:00:00Z"},
	{"2016-12-31T23:59:60.5Z", wire.TimeFormat{}, "2017-01-01T00:00:00.5Z"},
	{"2016-12-31T12:34:60Z", wire.TimeFormat{}, "time_invalid cannot be read"},
	{"99999999", wire.TimeFormat{Precision: wire.Seconds}, "time_too_old neither 0 nor between 1973"},
	{"2017-01-01 00:59:60", wire.TimeFormat{Location: berlin}, "2017-01-01T00:00:00Z"},
	{"2017-01-01 00:59:60+01:00", wire.TimeFormat{}, "2017-01-01T00:00:00Z"},
	{"2016-12-31T23:59:61Z", wire.TimeFormat{}, "time_invalid RFC 3339"},
	{"-1", wire.TimeFormat{}, "time_too_old RFC 3339"},
	{"99999999", wire.TimeFormat{Precision: wire.Seconds}, "time_too_old 1973"},
	{"100000000", wire.TimeFormat{Precision: wire.Seconds}, "1973-03-03T09:46:40Z"},
	{"1e400", wire.TimeFormat{}, "time_invalid 1e400"},
	{"1e125", wire.TimeFormat{}, "time_in_future 1e125"},
	{"99999999999999", wire.TimeFormat{}, "time_in_future 2262"},
	{"-1e30", wire.TimeFormat{}, "time_too_old 1973"},
	{"123456789012345678901234567890123456789", wire.TimeFormat{}, "time_invalid 38"},
	{"1.2.3", wire.TimeFormat{}, "time_invalid 1.2.3"},
	{"+", wire.TimeFormat{}, "time_invalid +"},
	{"e", wire.TimeFormat{}, "time_invalid e"},
	{"-", wire.TimeFormat{}, "time_invalid -"},
	{" 1475001526000", wire.TimeFormat{}, "time_invalid"},
	{repeat("9", 500), wire.TimeFormat{}, "time_invalid"},
	{repeat("x", 500), wire.TimeFormat{}, "time_invalid …"},
}

// TestParse_AcceptsDocumentedForms checks the time of each form. The verdict on other texts
// must contain a remedy. A number with a wrong unit must never be a time in 1970.
func TestParse_AcceptsDocumentedForms(t *testing.T) {
	for _, row := range times {
		at, v := row.format.Parse(row.text)
		got := string(wire.AppendTime(nil, at))
		if v.Outcome == varve.Rejected {
			got = string(v.Code) + " " + v.Message
		}
		code, says, rejected := strings.Cut(row.want, " ")
		if rejected && (string(v.Code) != code || !strings.Contains(v.Message, says)) || !rejected && got != row.want && string(v.Code) != row.want {
			t.Errorf("%.40q in %s: %s, want %s", row.text, row.format.Precision, got, row.want)
		}
		if len(v.Message) > maxMessage {
			t.Errorf("%.40q: a message of %d bytes", row.text, len(v.Message))
		}
	}
}

// TestParse_KeepsNanoseconds checks numeric times from 1973 on in every precision, with and
// without a fraction.
func TestParse_KeepsNanoseconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(1e17, varve.MaxTime-1).Draw(t, "ns")
		for _, p := range []wire.Precision{wire.Seconds, wire.Milliseconds, wire.Microseconds, wire.Nanoseconds} {
			n := decimal.FromScaled(ns, map[wire.Precision]int{wire.Seconds: -9, wire.Milliseconds: -6, wire.Microseconds: -3}[p])
			for _, text := range []string{n.String(), n.Canonical().String()} {
				at, v := wire.TimeFormat{Precision: p}.Parse(text)
				if v.Outcome != 0 || at.UnixNano() != ns || at.Location() != time.UTC {
					t.Fatalf("%s in %s: %s %s, want %d", text, p, at, v, ns)
				}
			}
			whole := ns / int64(p)
			body := `{"device":"d1","time":` + varve.IntValue(whole).String() + `,"fields":{"a":1}}`
			d := defaults()
			d.Time.Precision = p
			all, err := drain(new(wire.Memory), new(wire.Batch), wire.NDJSON, strings.NewReader(body), d, wire.Columns{})
			if err != nil || all[0].verdict.Outcome != 0 || all[0].reading.Time.UnixNano() != whole*int64(p) {
				t.Fatalf("%s in %s: %v %v", body, p, all, err)
			}
		}
	})
}

// TestClock_FormatsLikeRFC3339 checks the format and the number of decimals, after any other
// time.
func TestClock_FormatsLikeRFC3339(t *testing.T) {
	var c wire.Clock
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(0, rapid.Int64Range(0, varve.MaxTime-1).Draw(t, "ns"))
		at = at.Truncate(rapid.SampledFrom([]time.Duration{1, 1e3, 1e6, 1e7, 1e9, 24 * time.Hour}).Draw(t, "unit"))
		for _, at := range []time.Time{at, at.Add(time.Nanosecond), at.Add(time.Hour)} {
			if !at.Before(varve.AllTime().To) {
				continue
			}
			want := at.UTC().Format(time.RFC3339Nano)
			if got := string(c.Append(nil, at.In(berlin))); got != want || string(wire.AppendTime(nil, at)) != want {
				t.Fatalf("%s, want %s", got, want)
			}
			if back, v := (wire.TimeFormat{}).Parse(want); v.Outcome != 0 || !back.Equal(at) {
				t.Fatalf("%s came back as %s, %s", want, back, v)
			}
		}
	})
}

func TestParsePrecision_KnowsUnits(t *testing.T) {
	for text, want := range map[string]wire.Precision{"": wire.Milliseconds, "s": wire.Seconds, "ms": wire.Milliseconds, "us": wire.Microseconds, "ns": wire.Nanoseconds} {
		if p, err := wire.ParsePrecision(text); p != want || err != nil || text != "" && p.String() != text {
			t.Errorf("%q: %s, %v", text, p, err)
		}
	}
	for _, text := range []string{"S", "min", "µs", " s"} {
		if _, err := wire.ParsePrecision(text); err == nil {
			t.Errorf("%q is known", text)
		}
	}
}
