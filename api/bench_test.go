package api_test

import (
	"bytes"
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

// BenchmarkIngest takes a body of 5,000 readings in, durably, without a network
// in between.
func BenchmarkIngest(b *testing.B) {
	st, err := local.Open(local.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.Open(b.Context(), engine.Options{Store: st, Holder: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	h := api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Keeper: e.Store, Streams: e.Streams, Now: e.Now,
		Metrics: prometheus.NewRegistry(),
	})
	at := time.Now().Add(-24 * time.Hour).UnixMilli()
	var body bytes.Buffer
	n := 0
	for b.Loop() {
		b.StopTimer()
		body.Reset()
		for range 5000 {
			fmt.Fprintf(&body, `{"device":"dev-%04d","time":%d,"fields":{"temperature":%d.%d,"humidity":%d.%d,"battery":%d}}`+"\n",
				n%1000, at+int64(n/1000)*1000, 20+n%3, n%10, 40+n%5, n%7, 80+n%2)
			n++
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/streams/bench/readings", &body)
		r.Header.Set("Content-Type", "application/x-ndjson")
		w := httptest.NewRecorder()
		b.StartTimer()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/reading")
}
