package wire_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// TestFormatOf_RecognizesMediaTypes checks the media types of readings, without regard to
// parameters and case. The default types of HTTP clients mean JSON.
func TestFormatOf_RecognizesMediaTypes(t *testing.T) {
	rows := map[string]wire.Format{
		"": wire.JSON, "application/json": wire.JSON, "Application/JSON; charset=utf-8": wire.JSON, "text/plain": wire.JSON,
		"application/x-www-form-urlencoded": wire.JSON, "application/octet-stream": wire.JSON,
		"application/x-ndjson": wire.NDJSON, "application/ndjson": wire.NDJSON, "application/jsonl": wire.NDJSON,
		"text/csv": wire.CSV, "text/csv; header=present": wire.CSV, "application/csv": wire.CSV,
		"application/xml": 0, "multipart/form-data; boundary=x": 0, "text/csv; =": 0, "/": 0, "image/png": 0,
	}
	for text, want := range rows {
		if got, ok := wire.FormatOf(text); got != want || ok != (want != 0) {
			t.Errorf("%q is %s, %t", text, got, ok)
		}
	}
	for _, f := range []wire.Format{wire.JSON, wire.NDJSON, wire.CSV} {
		if got, ok := wire.FormatOf(f.MediaType()); got != f || !ok || f.String() == "unknown" {
			t.Errorf("%s comes back as %s", f, got)
		}
	}
	if wire.Format(0).String() != "unknown" {
		t.Error("there is a format 0")
	}
}

// TestFormats_AreFoundByEachName checks that the names, media types and extensions of a format
// belong to it alone.
func TestFormats_AreFoundByEachName(t *testing.T) {
	for _, f := range wire.BodyFormats() {
		if got, ok := wire.ParseBodyFormat(f.Name()); got != f || !ok {
			t.Errorf("the name %s is of %s", f.Name(), got)
		}
		if got, ok := wire.FormatOf(f.MediaType()); got != f || !ok {
			t.Errorf("the media type %s is of %s", f.MediaType(), got)
		}
		if got, ok := wire.AnswerFormatOf(" " + f.MediaType()); ok != (f != wire.Line) || ok && got != f {
			t.Errorf("the media type %s of an answer is of %s", f.MediaType(), got)
		}
		if p := f.PieceFormat(); p.PieceFormat() != p {
			t.Errorf("pieces of %s are %s, whose pieces differ", f, p)
		}
	}
	for name, want := range map[string]wire.Format{"a.csv": wire.CSV, "b/A.JSONL": wire.NDJSON, "a.ndjson": wire.NDJSON, "a.json": wire.JSON, "x.lp": wire.Line, "x.line": wire.Line, "json": 0, "a.txt": 0, "": 0} {
		if got, ok := wire.FormatOfFile(name); got != want || ok != (want != 0) {
			t.Errorf("the file %q is %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"", "columns", "xml", "JSON", "lp"} {
		if f, ok := wire.ParseBodyFormat(name); ok {
			t.Errorf("%q is accepted as %s", name, f)
		}
	}
	if f, ok := wire.ParseFormat("columns"); f != wire.ColumnJSON || !ok {
		t.Errorf("the format columns of answers is %s", f)
	}
}

func TestNewReader_RefusesAnswerFormats(t *testing.T) {
	for _, f := range []wire.Format{0, wire.ColumnJSON, 200} {
		if _, err := wire.NewReader(new(wire.Memory), f, strings.NewReader("{}"), defaults(), wire.Columns{}); err == nil {
			t.Errorf("%s has a reader", f)
		}
		if _, err := wire.NewSplitter(f, strings.NewReader("{}"), wire.Columns{}, 1, 1); err == nil {
			t.Errorf("%s has a splitter", f)
		}
	}
}

// TestStatusOf_PreservesFailure checks that a client derives the server's failure from the status,
// and a suitable failure from other statuses.
func TestStatusOf_PreservesFailure(t *testing.T) {
	for _, f := range []varve.Failure{varve.Internal, varve.Invalid, varve.NotFound, varve.Conflict, varve.Busy, varve.Unavailable} {
		if got := wire.FailureOfStatus(wire.StatusOf(f)); got != f {
			t.Errorf("failure %d is status %d, which is failure %d", f, wire.StatusOf(f), got)
		}
	}
	rows := map[int]varve.Failure{
		http.StatusRequestEntityTooLarge: varve.Invalid, http.StatusUnprocessableEntity: varve.Invalid, http.StatusMethodNotAllowed: varve.Invalid,
		http.StatusUnsupportedMediaType: varve.Invalid, http.StatusTeapot: varve.Internal, http.StatusBadGateway: varve.Internal,
	}
	for status, want := range rows {
		if got := wire.FailureOfStatus(status); got != want {
			t.Errorf("status %d is failure %d, want %d", status, got, want)
		}
	}
}

// TestReader_CountsLinesAcrossBatches checks that a body longer than a batch is complete, with
// continuous line numbers.
func TestReader_CountsLinesAcrossBatches(t *testing.T) {
	n := 2*wire.BatchReadings + 7
	bodies := map[wire.Format]string{
		wire.NDJSON: strings.Repeat(good+"\n", n), wire.CSV: header + strings.Repeat(goodRow+"\n", n), wire.JSON: "[" + strings.Repeat(good+",", n-1) + good + "]",
	}
	for f, body := range bodies {
		all := mustRead(t, f, body)
		if len(all) != n {
			t.Errorf("%s: %d readings, want %d", f, len(all), n)
		}
		first := map[wire.Format]int{wire.NDJSON: 1, wire.CSV: 2}[f]
		for i, o := range all {
			if o.verdict.Outcome != 0 || f != wire.JSON && o.line != first+i {
				t.Fatalf("%s: reading %d on line %d: %s", f, i, o.line, o.verdict)
			}
		}
	}
}

// TestReader_SeparatesManyNames checks that readings with many distinct or very long names stay
// distinct, batch after batch.
func TestReader_SeparatesManyNames(t *testing.T) {
	var body strings.Builder
	n := 20_000
	for i := range n {
		name := string(varve.HashID(uint64(i)).Append(nil))
		if i%1000 == 0 {
			name = repeat("x", 300) + name
		}
		body.WriteString(`{"device":"` + name + `","time":1475001526000,"fields":{"a":1}}` + "\n")
	}
	all := mustRead(t, wire.NDJSON, body.String())
	for i, o := range all {
		want := string(varve.HashID(uint64(i)).Append(nil))
		if i%1000 == 0 && o.verdict.Code == varve.CodeDeviceInvalid {
			continue
		}
		if o.reading.Device != want {
			t.Fatalf("reading %d is of %q, want %q: %s", i, o.reading.Device, want, o.verdict)
		}
	}
	if len(all) != n {
		t.Fatal(len(all))
	}
}

// TestReader_ReleasesLongNames checks that reused memory does not contain names that are too long.
func TestReader_ReleasesLongNames(t *testing.T) {
	mem, b := new(wire.Memory), new(wire.Batch)
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	send := func(i int) {
		body := `{"device":"` + repeat(string(rune('a'+i%26)), 200<<10+i) + `","time":1475001526000,"fields":{"a":1}}`
		if all, err := drain(mem, b, wire.NDJSON, strings.NewReader(body), defaults(), wire.Columns{}); err != nil || codes(all) != "1:device_invalid" {
			t.Fatal(codes(all), err)
		}
	}
	send(0)
	before := heap()
	for i := range 100 {
		send(i)
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("%d MiB are kept", (after-before)>>20)
	}
	runtime.KeepAlive(b)
}
