package wire_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// tester has the methods that a test, a fuzz target and a property share.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// good and goodRow are the same valid reading: good is an object, and goodRow is a row below header.
const (
	good    = `{"device":"d1","time":1475001526000,"fields":{"a":1}}`
	header  = "time,device,a\n"
	goodRow = "1475001526000,d1,1"
)

func defaults() wire.Defaults { return wire.Defaults{Tenant: "acme", Stream: "weather"} }

// outcome is the result for one normalized reading of a body.
type outcome struct {
	line    int
	reading varve.Reading
	verdict varve.Verdict
}

// String returns all parts of a valid reading, or the code of an invalid one.
func (o outcome) String() string {
	if o.verdict.Outcome == varve.Rejected {
		return string(o.verdict.Code)
	}
	return show(&o.reading)
}

// show returns a reading as text, with the scale of numbers.
func show(r *varve.Reading) string {
	s := fmt.Sprintf("%s %d #%s", r.Series, r.Time.UnixNano(), r.ID)
	if !r.Arrived.IsZero() {
		s += fmt.Sprintf(" arrived %d", r.Arrived.UnixNano())
	}
	for _, f := range r.Fields {
		s += fmt.Sprintf(" %q=%s(%q)", f.Name, f.Value.Kind(), f.Value)
	}
	return s
}

// batchOutcomes copies the outcomes of a batch, whose memory is reused.
func batchOutcomes(b *wire.Batch) []outcome {
	var all []outcome
	for i := range b.Readings {
		o := outcome{line: b.Lines[i], reading: b.Readings[i].Clone(), verdict: b.Verdicts[i]}
		if o.verdict.Outcome == 0 {
			o.verdict = o.reading.Normalize()
		}
		all = append(all, o)
	}
	return all
}

// drain reads a body to its end with the given memory and batch.
func drain(mem *wire.Memory, b *wire.Batch, f wire.Format, body io.Reader, d wire.Defaults, c wire.Columns) ([]outcome, error) {
	r, err := wire.NewReader(mem, f, body, d, c)
	if err != nil {
		return nil, err
	}
	var all []outcome
	for {
		b.Reset()
		err := r.Read(b)
		all = append(all, batchOutcomes(b)...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// read reads a body of readings of acme/weather.
func read(f wire.Format, body string) ([]outcome, error) {
	return drain(new(wire.Memory), new(wire.Batch), f, strings.NewReader(body), defaults(), wire.Columns{})
}

func mustRead(t tester, f wire.Format, body string) []outcome {
	t.Helper()
	all, err := read(f, body)
	if err != nil {
		t.Fatalf("%s body %.200q: %v", f, body, err)
	}
	return all
}

func readCSV(t tester, body string, d wire.Defaults, c wire.Columns) []outcome {
	t.Helper()
	all, err := drain(new(wire.Memory), new(wire.Batch), wire.CSV, strings.NewReader(body), d, c)
	if err != nil {
		t.Fatalf("%.200q: %v", body, err)
	}
	return all
}

// codes returns line:ok or line:code for each outcome.
func codes(all []outcome) string {
	var parts []string
	for _, o := range all {
		word := "ok"
		if o.verdict.Outcome == varve.Rejected {
			word = string(o.verdict.Code)
		}
		parts = append(parts, fmt.Sprintf("%d:%s", o.line, word))
	}
	return strings.Join(parts, " ")
}

func texts(all []outcome) []string {
	var list []string
	for _, o := range all {
		list = append(list, o.String())
	}
	return list
}

func sameTexts(t tester, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("reading %d of %d:\n got %.300s\nwant %.300s", i, len(want), got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d readings, want %d", len(got), len(want))
	}
}

// fields returns the fields of a reading as text: a=number(1) b=string(x).
func fields(r *varve.Reading) string {
	var parts []string
	for _, f := range r.Fields {
		parts = append(parts, fmt.Sprintf("%s=%s(%s)", f.Name, f.Value.Kind(), f.Value))
	}
	return strings.Join(parts, " ")
}

// maxMessage bounds the message of a verdict, because an answer may contain thousands.
const maxMessage = 400

// checkMessages fails if the message of a verdict is empty, too long or not printable.
func checkMessages(t tester, all []outcome) {
	t.Helper()
	for i, o := range all {
		if o.verdict.Outcome != varve.Rejected {
			continue
		}
		m := o.verdict.Message
		if o.verdict.Code == "" || m == "" || len(m) > maxMessage || !utf8.ValidString(m) {
			t.Errorf("reading %d: code %q, a message of %d bytes: %.200q", i, o.verdict.Code, len(m), m)
		}
	}
}

// repeat is a short name for strings.Repeat, for use in tables of tests.
func repeat(s string, n int) string { return strings.Repeat(s, n) }

// object returns a reading of device d1 with the given fields.
func object(fields string) string {
	return `{"device":"d1","time":1475001526000,"fields":` + fields + `}`
}
