package wire_test

import (
	"errors"
	"github.com/varvedb/varve/api/wire"
	"io"
	"strings"
	"testing"
)

// endless repeats a text and counts the bytes that were read.
type endless struct {
	text string
	n    int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, strings.Repeat(e.text, 4096)[e.n%int64(len(e.text)):])
	e.n += int64(n)
	return n, nil
}

// TestBlankBodies_GivenUp checks that a body of JSON, NDJSON or CSV is not read to its end if it consists
// mostly of blanks.
func TestBlankBodies_GivenUp(t *testing.T) {
	const most = 40 << 20
	for _, c := range []struct {
		why    string
		format wire.Format
		begin  string
		text   string
	}{
		{"lines of NDJSON", wire.NDJSON, "", "\n"},
		{"lines with blanks", wire.NDJSON, "", " \t\r\n"},
		{"one line", wire.NDJSON, "", " "},
		{"after a reading", wire.NDJSON, `{"device":"d","time":1795000000000,"fields":{"a":1}}` + "\n", "\r\n"},
		{"rows of CSV", wire.CSV, "device,time,a\n", "\n"},
		{"before a header", wire.CSV, "", "\n"},
		{"before JSON", wire.JSON, "", " "},
		{"in an array", wire.JSON, "[", "\n"},
		{"a string without an end", wire.JSON, `[{"a":"`, "x"},
	} {
		body := &endless{text: c.text}
		var mem wire.Memory
		r, err := wire.NewReader(&mem, c.format, io.MultiReader(strings.NewReader(c.begin), body), wire.Defaults{Stream: "s"}, wire.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		var b wire.Batch
		for err == nil {
			b.Reset()
			err = r.Read(&b)
			if body.n > most {
				break
			}
		}
		var bad *wire.BodyError
		if !errors.As(err, &bad) || !strings.Contains(bad.Message, "blank") || body.n > most {
			t.Errorf("%s: %v after %d MiB", c.why, err, body.n>>20)
		}
	}
}

// TestBlankLines_KeepPlaces checks that any number of blank lines changes neither the readings
// nor their line numbers.
func TestBlankLines_KeepPlaces(t *testing.T) {
	const row = `{"device":"d","time":1795000000000,"fields":{"a":1}}`
	for _, c := range []struct {
		format wire.Format
		body   string
		lines  []int
	}{
		{wire.NDJSON, "\n\n" + row + "\n \n\t\r\n  " + row + "\n\n", []int{3, 6}},
		{wire.NDJSON, strings.Repeat("\n", 100_000) + row + strings.Repeat(" \n", 100_000) + row, []int{100_001, 200_001}},
		{wire.CSV, "\n\ndevice,time,a\n\n \nd,1795000000000,1\n\n\n d,1795000000000,2", []int{6, 9}},
	} {
		var mem wire.Memory
		r, err := wire.NewReader(&mem, c.format, strings.NewReader(c.body), wire.Defaults{Stream: "s"}, wire.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		var b wire.Batch
		if err := r.Read(&b); !errors.Is(err, io.EOF) || b.Len() != 2 || b.Lines[0] != c.lines[0] || b.Lines[1] != c.lines[1] {
			t.Errorf("%v, %d readings, lines %v, want %v", err, b.Len(), b.Lines, c.lines)
		}
	}
}
