package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/local"
)

// benched returns a handler on an embedded store, for benchmarks. The argument "tail" is the maximum
// size of a memtable in bytes; 0 means the default of the store.
func benched(b *testing.B, tail int64) http.Handler {
	b.Helper()
	st, err := local.Open(local.Options{Dir: b.TempDir(), MemtableBytes: tail})
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.Open(b.Context(), engine.Options{Store: st, Holder: "bench"})
	if err != nil {
		b.Fatal(errors.Join(err, st.Close()))
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	return api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store, Now: e.Now,
		Metrics: prometheus.NewRegistry(),
	})
}

// appendBenched appends a reading in NDJSON. The argument "at" is its event time in milliseconds, and
// its values depend on n.
func appendBenched(body *bytes.Buffer, device int, at int64, n int) {
	fmt.Fprintf(body, `{"device":"dev-%04d","time":%d,"fields":{"temperature":%d.%d,"humidity":%d.%d,"battery":%d}}`+"\n",
		device, at, 20+n%3, n%10, 40+n%5, n%7, 80+n%2)
}

func postBenched(b *testing.B, h http.Handler, body *bytes.Buffer) {
	b.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/streams/bench/readings", body)
	r.Header.Set("Content-Type", "application/x-ndjson")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatal(w.Body)
	}
}

// appendPoint appends the same reading as appendBenched, in line protocol.
func appendPoint(body *bytes.Buffer, stream string, device int, at int64, n int) {
	fmt.Fprintf(body, "%s,device=dev-%04d temperature=%d.%d,humidity=%d.%d,battery=%di %d000000\n",
		stream, device, 20+n%3, n%10, 40+n%5, n%7, 80+n%2, at)
}

// BenchmarkIngest stores a body of 5,000 readings durably, without a network. The body is NDJSON,
// line protocol, or line protocol whose points alternate between five streams.
func BenchmarkIngest(b *testing.B) {
	bodies := map[string]func(body *bytes.Buffer, device int, at int64, n int){
		"ndjson": appendBenched,
		"line":   func(body *bytes.Buffer, device int, at int64, n int) { appendPoint(body, "bench", device, at, n) },
		"streams": func(body *bytes.Buffer, device int, at int64, n int) {
			appendPoint(body, fmt.Sprint("bench", n%5), device, at, n)
		},
	}
	for name, appendReading := range bodies {
		b.Run(name, func(b *testing.B) {
			h := benched(b, 0)
			at := time.Now().Add(-24 * time.Hour).UnixMilli()
			var body bytes.Buffer
			n := 0
			for b.Loop() {
				b.StopTimer()
				body.Reset()
				for range 5000 {
					appendReading(&body, n%1000, at+int64(n/1000)*1000, n)
					n++
				}
				b.StartTimer()
				if name == "ndjson" {
					postBenched(b, h, &body)
					continue
				}
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/write?db=x", &body)); w.Code != http.StatusNoContent {
					b.Fatal(w.Body)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/reading")
		})
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkDay reads a day of a device, 1,440 readings, from chunks.
func BenchmarkDay(b *testing.B) {
	h := benched(b, 1<<20)
	at := time.Now().Add(-25 * time.Hour).Truncate(time.Minute)
	for device := range 50 {
		var body bytes.Buffer
		for n := range 1440 {
			appendBenched(&body, device, at.Add(time.Duration(n)*time.Minute).UnixMilli(), n+device)
		}
		postBenched(b, h, &body)
	}
	device := 0
	for b.Loop() {
		device = (device + 7) % 50
		url := fmt.Sprintf("/v1/streams/bench/devices/dev-%04d/readings?from=%d", device, at.UnixMilli())
		h.ServeHTTP(&discard{http.Header{}}, httptest.NewRequest(http.MethodGet, "http://localhost"+url, nil))
	}
}
