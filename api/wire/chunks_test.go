package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/varvedb/varve/api/wire"
	"pgregory.net/rapid"
)

func anyLine(t *rapid.T) string {
	switch rapid.IntRange(0, 9).Draw(t, "kind of line") {
	case 0:
		return rapid.SampledFrom(badObjects).Draw(t, "bad").object
	case 1:
		return rapid.SampledFrom(brokenLines).Draw(t, "broken").line
	case 2:
		return rapid.SampledFrom([]string{"", " ", "\t\r", "\u00a0"}).Draw(t, "blank")
	case 3:
		return good + rapid.SampledFrom([]string{"\r", " ", "\t"}).Draw(t, "behind")
	default:
		return object(`{"a":` + rapid.StringMatching(`-?[1-9][0-9]{0,30}(\.[0-9]{1,5})?`).Draw(t, "number") + `,"b":"ä\u00e4"}`)
	}
}

// anyRow draws a valid or invalid row for a body that begins with the constant header.
func anyRow(t *rapid.T) string {
	if rapid.Bool().Draw(t, "good") {
		return "1475001526000,d1," + rapid.StringMatching(`[0-9a-z .+-]{1,12}|"([a-z,\n]|""){0,8}"`).Draw(t, "cell")
	}
	if rapid.Bool().Draw(t, "wild") {
		return rapid.StringMatching(`([0-9a,"\n\r ]){0,20}`).Draw(t, "row")
	}
	return rapid.SampledFrom(csvRows[:20]).Draw(t, "bad").rows
}

func anyPoint(t *rapid.T) string {
	switch rapid.IntRange(0, 9).Draw(t, "kind of line") {
	case 0:
		return rapid.SampledFrom([]string{"", " ", "# comment", "weather", "weather,device=d1", "weather v=1" + at, "weather,device= v=1", "weather,device=d1 v=" + at, "weather,device=d1 v=1 x"}).Draw(t, "bad")
	case 1:
		return rapid.StringMatching(`weather,device=d1 s="([a-z ,=\n]|\\"|\\\\){0,8}"?( 147500152600000000[0-9])?`).Draw(t, "string")
	default:
		return "weather,device=d1 v=" + rapid.StringMatching(`-?[1-9][0-9]{0,30}(\.[0-9]{1,5})?`).Draw(t, "number") + ",ok=true,n=7i" + at
	}
}

func anyBody(t *rapid.T, f wire.Format) string {
	mark := rapid.SampledFrom([]string{"", "", "\ufeff"}).Draw(t, "mark")
	end := rapid.SampledFrom([]string{"", "\n", "\r\n", "\n\n"}).Draw(t, "end")
	switch f {
	case wire.Line:
		points := rapid.SliceOfN(rapid.Custom(anyPoint), 0, 12).Draw(t, "points")
		return strings.Join(points, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "between")) + end
	case wire.NDJSON:
		return mark + strings.Join(rapid.SliceOfN(rapid.Custom(anyLine), 0, 12).Draw(t, "lines"), "\n") + end
	case wire.CSV:
		rows := append([]string{strings.TrimSpace(header)}, rapid.SliceOfN(rapid.Custom(anyRow), 0, 12).Draw(t, "rows")...)
		return mark + strings.Join(rows, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "between")) + end
	default:
		between := rapid.SampledFrom([]string{",", ", ", ",\n", "\n,\n"}).Draw(t, "between")
		last := rapid.SampledFrom([]string{"]", "]", "", ",]", "]x", "}"}).Draw(t, "last")
		return mark + "[" + strings.Join(rapid.SliceOfN(rapid.Custom(anyLine), 0, 12).Draw(t, "elements"), between) + last + end
	}
}

// piecewise is a reader of a text. Each call returns at most as many bytes as the function "sizes"
// returns.
type piecewise struct {
	text  string
	sizes func() int
}

func (p *piecewise) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.sizes())], p.text)
	p.text = p.text[n:]
	return n, nil
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// checkChunks checks that readings and verdicts depend neither on the lengths of reads nor on the
// earlier use of the memory.
func checkChunks(t tester, f wire.Format, body string, readers map[string]io.Reader, mem *wire.Memory, b *wire.Batch) {
	t.Helper()
	want, wantErr := read(f, body)
	for name, r := range readers {
		got, err := drain(mem, b, f, r, defaults(), wire.Columns{})
		if message(err) != message(wantErr) {
			t.Fatalf("%s: error %v, and %v at once", name, err, wantErr)
		}
		if codes(got) != codes(want) {
			t.Fatalf("%s: %s, and %s at once", name, codes(got), codes(want))
		}
		sameTexts(t, texts(got), texts(want))
	}
}

func TestReader_IgnoresPieces(t *testing.T) {
	mem, b := new(wire.Memory), new(wire.Batch)
	rapid.Check(t, func(t *rapid.T) {
		for _, f := range []wire.Format{wire.JSON, wire.NDJSON, wire.CSV, wire.Line} {
			body := anyBody(t, f)
			size := rapid.IntRange(1, 300).Draw(t, "size")
			n := 0
			checkChunks(t, f, body, map[string]io.Reader{
				"byte by byte":           iotest.OneByteReader(strings.NewReader(body)),
				"half, and at its end":   iotest.DataErrReader(iotest.HalfReader(strings.NewReader(body))),
				"uneven pieces":          &piecewise{body, func() int { n++; return 1 + n*size%997 }},
				"the same memory, again": strings.NewReader(body),
			}, mem, b)
		}
	})
}

// TestReader_LimitsLinesInAnyPieces checks that the verdict on a line at the limit does not depend on how
// many bytes each read returns.
func TestReader_LimitsLinesInAnyPieces(t *testing.T) {
	const limit = 512 << 10 // maximum length of a line, including its newline
	for _, over := range []int{-1, 0, 1, 4 << 10} {
		long := good + repeat(" ", limit-1+over-len(good))
		for _, end := range []string{"\n" + good, "\n", ""} {
			body := good + "\n" + long + end
			checkChunks(t, wire.NDJSON, body, map[string]io.Reader{
				"byte by byte":  iotest.OneByteReader(strings.NewReader(body)),
				"odd pieces":    &piecewise{body, func() int { return 1009 }},
				"a single read": &piecewise{body, func() int { return len(body) }},
			}, new(wire.Memory), new(wire.Batch))
			want := "1:ok 2:ok"
			if len(long)+min(len(end), 1) > limit {
				want = "1:ok 2:too_large"
			}
			if len(end) > 1 {
				want += " 3:ok"
			}
			if got := codes(mustRead(t, wire.NDJSON, body)); got != want {
				t.Errorf("%d over, end %q: %s, want %s", over, end, got, want)
			}
		}
	}
}

var errGone = errors.New("the client has gone")

// TestReader_ReturnsReadingsBeforeCut checks that a truncated body gives its complete readings,
// no partial reading, and the cause.
func TestReader_ReturnsReadingsBeforeCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]wire.Format{wire.NDJSON, wire.CSV, wire.Line}).Draw(t, "format")
		body := anyBody(t, f)
		cut := rapid.IntRange(0, len(body)).Draw(t, "cut")
		cause := rapid.SampledFrom([]error{errGone, io.ErrUnexpectedEOF}).Draw(t, "cause")
		want, wantErr := read(f, body)
		if wantErr != nil {
			t.Skip("cannot be read when it is whole")
		}
		r := io.MultiReader(strings.NewReader(body[:cut]), iotest.ErrReader(cause))
		got, err := drain(new(wire.Memory), new(wire.Batch), f, r, defaults(), wire.Columns{})
		if !errors.Is(err, cause) {
			t.Fatalf("error %v, want %v", err, cause)
		}
		// Do not count the rows of CSV or the points with quotes. If a quote is open at the cut, the number of
		// whole rows before it is unknown.
		if f == wire.NDJSON || !strings.Contains(body, `"`) {
			if lines := strings.Count(body[:cut], "\n"); len(got) > len(want) || len(got) > lines {
				t.Fatalf("%d readings of %d whole lines", len(got), lines)
			}
			sameTexts(t, texts(got), texts(want)[:len(got)])
			whole, _ := read(f, body[:strings.LastIndex(body[:cut], "\n")+1])
			if len(got) != len(whole) {
				t.Fatalf("%d readings, and %d came whole", len(got), len(whole))
			}
		}
	})
}

// TestJSON_ReturnsElementsBeforeCut checks that a truncated array gives its complete elements
// and the cause.
func TestJSON_ReturnsElementsBeforeCut(t *testing.T) {
	body := "[" + good + "," + good + "]"
	for cut := range body {
		r := io.MultiReader(strings.NewReader(body[:cut]), iotest.ErrReader(errGone))
		got, err := drain(new(wire.Memory), new(wire.Batch), wire.JSON, r, defaults(), wire.Columns{})
		if whole := strings.Count(body[:cut], "}}"); !errors.Is(err, errGone) || len(got) != whole {
			t.Fatalf("cut at %d: %d readings, want %d: %v", cut, len(got), whole, err)
		}
	}
}
