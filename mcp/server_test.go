package mcp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

func TestNew_RefusesClientThatCanWrite(t *testing.T) {
	c, err := client.New(client.DefaultServer)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Client: c}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if c, err = client.New(client.DefaultServer, client.ReadOnly()); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Client: c}); err != nil {
		t.Error(err)
	}
}

// TestLatenesses_FillRanges checks percentiles by nearest rank, and that each reading is in one range.
func TestLatenesses_FillRanges(t *testing.T) {
	at := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	var l latenesses
	for _, late := range []time.Duration{-time.Second, 0, 9999 * time.Millisecond, 10 * time.Second, time.Minute, 3 * time.Hour, 40 * 24 * time.Hour, time.Second, 2 * time.Second, 3 * time.Second} {
		l.add("d", &varve.Reading{Time: at, Arrived: at.Add(late)})
	}
	var a latenessAnswer
	l.fill(&a)
	want := []lateRange{{"before its event time", 1}, {"up to 10s", 5}, {"10s to 1m", 1}, {"1m to 10m", 1}, {"1h to 1d", 1}, {"more than 31d", 1}}
	if len(a.Ranges) != len(want) || a.Readings != 10 {
		t.Fatalf("%+v", a)
	}
	for i := range want {
		if a.Ranges[i] != want[i] {
			t.Errorf("range %d is %+v, want %+v", i, a.Ranges[i], want[i])
		}
	}
	if s := *a.Seconds; s != (latenessStats{Min: -1, Median: 3, P90: 10800, P99: 3456000, Max: 3456000}) {
		t.Errorf("%+v", s)
	}
	var none latenessAnswer
	(&latenesses{}).fill(&none)
	if none.Readings != 0 || none.Seconds != nil {
		t.Errorf("without readings: %+v", none)
	}
}

// TestLateness_IsIncompleteForArchives checks that an answer from archives is complete only for a single device. The
// list of devices lacks a device whose readings are all in archives. Without the parameter archive, the
// setting of the stream must apply.
func TestLateness_IsIncompleteForArchives(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/streams":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"streams":[{"name":"weather"},{"name":"old","archive":true}]}`)
			return
		case "/v1/streams/weather/devices", "/v1/streams/old/devices":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"devices":[]}`)
			return
		}
		w.Header().Set("Content-Type", wire.NDJSON.MediaType())
		w.Header().Set("Trailer", wire.HeaderNext)
		w.Header().Set(wire.HeaderNext, "")
	}))
	defer h.Close()
	c, err := client.New(h.URL, client.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		stream, device, archive string
		complete                bool
	}{
		{"weather", "", "", true}, {"weather", "", "false", true}, {"weather", "", "true", false}, {"weather", "", "only", false}, {"weather", "s1", "true", true},
		{"old", "", "", false}, {"old", "", "false", true}, {"old", "s1", "", true},
	} {
		answer, err := s.lateness(t.Context(), latenessParams{Stream: row.stream, Device: row.device, Archive: row.archive})
		if err != nil || answer.Complete != row.complete || (answer.Note == "") != row.complete {
			t.Errorf("%+v: %+v, %v", row, answer, err)
		}
	}
}
