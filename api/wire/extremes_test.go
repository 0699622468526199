package wire_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/decimal"
)

// TestReaders_RejectOrKeepLongNumbers checks numbers with more than 100,000 digits and an exponent that
// nearly cancels them. A reader must reject them or keep their values.
func TestReaders_RejectOrKeepLongNumbers(t *testing.T) {
	zeros := strings.Repeat("0", 100_040)
	for text, short := range map[string]string{"1" + zeros + "e-100050": "0.0000000001", "0." + zeros + "1e100050": "1000000000"} {
		number, err := decimal.Parse(short)
		if err != nil {
			t.Fatal(err)
		}
		want := varve.NumberValue(number)
		for f, body := range map[wire.Format]string{
			wire.NDJSON: `{"device":"d1","time":1475001526000,"fields":{"v":` + text + "}}",
			wire.CSV:    "device,time,v\nd1,1475001526000," + text,
			wire.Line:   "weather,device=d1 v=" + text + " 1475001526000",
		} {
			b := readBatch(t, f, body)
			if got := b.Readings[0].Field("v"); b.Verdicts[0].Outcome != varve.Rejected && !got.Equal(want) {
				t.Errorf("%v: %.60s", f, got)
			}
		}
	}
}

// readBatch reads a body of few readings, and normalizes the valid ones.
func readBatch(t *testing.T, f wire.Format, body string) *wire.Batch {
	t.Helper()
	r, err := wire.NewReader(new(wire.Memory), f, strings.NewReader(body), wire.Defaults{Tenant: "t", Stream: "s"}, wire.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	b := new(wire.Batch)
	if err := r.Read(b); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for i := range b.Readings {
		if b.Verdicts[i].Outcome == 0 {
			b.Verdicts[i] = b.Readings[i].Normalize()
		}
	}
	return b
}

// TestReader_AcceptsLargestReadings checks that a large reading of another format is accepted in its
// NDJSON form, although each control character then has six bytes.
func TestReader_AcceptsLargestReadings(t *testing.T) {
	r := varve.Reading{
		Series: varve.Series{Tenant: "t", Stream: "s", Device: "d1"}, Time: time.Unix(1e9, 0).UTC(),
		Fields: []varve.Field{{Name: "v", Value: varve.StringValue(strings.Repeat("\x01", 60_000))}},
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		t.Fatal(v)
	}
	if got := codes(mustRead(t, wire.NDJSON, string(wire.AppendSubmission(nil, &r))+"\n")); got != "1:ok" {
		t.Errorf("%s, want 1:ok", got)
	}
}

// TestLine_SortsByDevice checks that Sort orders the points of line protocol by device, and leaves the points
// of a device in the order of the body.
func TestLine_SortsByDevice(t *testing.T) {
	var mem wire.Memory
	var b wire.Batch
	for range 2 { // the second time, all series are known
		body := "m,device=a v=1 1700000001000000000\nm,device=b v=2 1700000001000000000\nm,device=a v=3 1700000002000000000\nm,device=b v=4 1700000002000000000\n"
		r, err := wire.NewReader(&mem, wire.Line, strings.NewReader(body), wire.Defaults{Tenant: "t"}, wire.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		b.Reset()
		_ = r.Read(&b) // the end of the body
		b.Sort()
		got := ""
		for i := range b.Readings {
			got += fmt.Sprint(b.Readings[i].Device, b.Readings[i].Time.Unix()-1_700_000_000, " ")
		}
		if want := "a1 a2 b1 b2 "; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLine_OpenStringsTakeLinearTime reads many lines that end with an open string. The time must grow with the
// number of lines, not with its square.
func TestLine_OpenStringsTakeLinearTime(t *testing.T) {
	checkGrowth(t, 500, 8000, func(lines int) func() {
		body := strings.Repeat("m,device=a v=\"\\\"\n", lines)
		return func() { mustRead(t, wire.Line, body) }
	})
}

// TestCSV_HeadersTakeLinearTime reads headers with many names. The time must grow with the number of names, not
// with its square.
func TestCSV_HeadersTakeLinearTime(t *testing.T) {
	checkGrowth(t, 2000, 40_000, func(names int) func() {
		var body strings.Builder
		body.WriteString("device,time")
		for i := range names {
			fmt.Fprintf(&body, ",%d", i)
		}
		return func() { readBatch(t, wire.CSV, body.String()+"\n") }
	})
}

// checkGrowth compares the time of a call with the total time of smaller calls that together have the same size.
// It tries several times, because other work on the machine may delay a call.
func checkGrowth(t *testing.T, few, many int, call func(size int) func()) {
	t.Helper()
	short, long := call(few), call(many)
	took := func(calls int, do func()) time.Duration {
		begin := time.Now()
		for range calls {
			do()
		}
		return time.Since(begin)
	}
	least, best := time.Hour, time.Hour
	for range 10 {
		least, best = min(least, took(many/few, short)), min(best, took(1, long))
		if best <= 5*least {
			return
		}
	}
	t.Errorf("%d calls of size %d take %s, one of size %d takes %s", many/few, few, least, many, best)
}
