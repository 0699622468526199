package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestWrite_CountsLateReadings checks that the answer to a write has the number of stored late readings
// in the header X-Varve-Late. It writes line protocol, NDJSON and JSON. A reading is late
// if it arrives an hour or more after its event time. Duplicates and rejected readings do not
// count.
func TestWrite_CountsLateReadings(t *testing.T) {
	s := newServer(t, nil)
	var lines, objects strings.Builder
	for i, ago := range []time.Duration{time.Hour, 48 * time.Hour, time.Hour - time.Second, 0} {
		at := noon.Add(-ago)
		fmt.Fprintf(&lines, "weather,device=d1 a=%d %d\n", i, at.UnixNano())
		fmt.Fprintf(&objects, `{"device":"d2","time":%d,"fields":{"a":%d}}`+"\n", at.UnixMilli(), i)
	}
	bad := "weather a=1 " + fmt.Sprint(noon.Add(-48*time.Hour).UnixNano())
	for _, c := range []struct {
		what, path, media, body string
		status                  int
		want                    string
	}{
		{"two of four points", "/write?db=x", "", lines.String(), http.StatusNoContent, "2"},
		{"duplicates", "/write?db=x", "", lines.String(), http.StatusNoContent, ""},
		{"one point, and a rejected one", "/write?db=x", "", "weather,device=d3 a=1 1700000000000000000\n" + bad, http.StatusBadRequest, "1"},
		{"two of four objects", writePath, "application/x-ndjson", objects.String(), http.StatusOK, "2"},
		{"a live object", writePath, "application/json", good(noon), http.StatusOK, ""},
	} {
		r := s.send(http.MethodPost, c.path, c.body, "Content-Type", c.media)
		if got := r.header.Get("X-Varve-Late"); r.status != c.status || got != c.want {
			t.Errorf("%s: %d %q, want %d %q: %s", c.what, r.status, got, c.status, c.want, r.body)
		}
	}
}
