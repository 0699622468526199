package doors

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// TestArrow_IsReadByJavaScript reads an answer with the library of Arrow for JavaScript. The answer has
// values of all kinds, missing values, and a number of 30 digits. An empty answer is also read.
func TestArrow_IsReadByJavaScript(t *testing.T) {
	s := startServer(t)
	status, text := s.call(t, http.MethodPost, "/v1/streams/weather/readings", `[
		{"device":"d1","time":"2026-01-01T00:00:00Z","id":"a","fields":{"n":22.40,"wide":123456789012345678901234567890,"ok":true,"text":"é","json":{"k":[1]},"mixed":1}},
		{"device":"d1","time":"2026-01-01T00:00:01.5Z","id":"b","fields":{"n":-0.125,"mixed":"x"}}]`)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	read := func(stream []byte) (string, error) {
		cmd := exec.CommandContext(t.Context(), "node", "testdata/read_arrow.js", cached(t, "arrow/package/Arrow.es2015.min.js"))
		cmd.Stdin = strings.NewReader(string(stream))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	status, stream := s.call(t, http.MethodGet, "/v1/streams/weather/devices/d1/readings?format=arrow", "")
	got, err := read(stream)
	if status != http.StatusOK || err != nil {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	for _, want := range []string{
		`"batches":1,`, `"id":{"type":"Utf8","values":["a","b"]}`,
		`"time":{"type":"Timestamp<NANOSECOND, UTC>","values":[1767225600000,1767225601500]}`,
		`"n":{"type":"Decimal[38e+3]","kind":"number","values":["22.400","-0.125"]}`,
		`"wide":{"type":"Decimal[38e0]","kind":"number","values":["123456789012345678901234567890",null]}`,
		`"ok":{"type":"Bool","kind":"boolean","values":[true,null]}`,
		`"text":{"type":"Utf8","kind":"string","values":["é",null]}`,
		`"json":{"type":"Utf8","kind":"json","values":["{\"k\":[1]}",null]}`,
		`"mixed":{"type":"Utf8","kind":"mixed","values":["1","\"x\""]}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	status, stream = s.call(t, http.MethodGet, "/v1/streams/weather/devices/d1/readings?format=arrow&numbers=float&fields=n,none&to=2020-01-01", "")
	if got, err := read(stream); status != http.StatusOK || err != nil || !strings.Contains(got, `"none":{"type":"Null","values":[]}`) {
		t.Errorf("an empty answer: %d, %v: %s", status, err, got)
	}
}
