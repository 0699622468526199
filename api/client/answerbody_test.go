package client

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// cutReader returns a reader that yields a body in two parts, divided at the given index.
func cutReader(body string, at int) io.Reader {
	return io.MultiReader(strings.NewReader(body[:at]), strings.NewReader(body[at:]))
}

// TestErrorLine_InAnyParts reads an answer with an error in its last line. However the network divides the
// answer, the lines before must be whole, and the error must be found.
func TestErrorLine_InAnyParts(t *testing.T) {
	lines := `{"time":"2026-11-27T10:00:00Z","text":"error"}` + "\n" + `{"e":1}` + "\n"
	body := lines + wire.ErrorLinePrefix + `{"title":"Internal Server Error","status":500,"detail":"data is damaged","code":"damaged"}}` + "\n"
	readers := map[string]io.Reader{"bytes": iotest.OneByteReader(strings.NewReader(body)), "halves": iotest.HalfReader(strings.NewReader(body))}
	for at := range body {
		readers[fmt.Sprint("cut at ", at)] = cutReader(body, at)
	}
	for name, r := range readers {
		resp := withErrorLine(&http.Response{Body: io.NopCloser(r)}, wire.NDJSON)
		var got bytes.Buffer
		_, err := io.Copy(&got, resp.Body)
		if err == nil || !strings.Contains(err.Error(), "data is damaged") || varve.FailureOf(err) == 0 {
			t.Errorf("%s: %v, want the error of the line", name, err)
		}
		if got.String() != lines {
			t.Errorf("%s: %q, want %q", name, &got, lines)
		}
	}
}

// TestErrorLine_LeavesOtherAnswers reads an answer, byte by byte, whose last line only begins like an error.
// The answer must be unchanged.
func TestErrorLine_LeavesOtherAnswers(t *testing.T) {
	body := strings.Repeat(`{"time":"2026-11-27T10:00:00Z","error":1}`+"\n", 20) + `{"err`
	resp := withErrorLine(&http.Response{Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(body)))}, wire.NDJSON)
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != body {
		t.Errorf("%q, %v", got, err)
	}
}
