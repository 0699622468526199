package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

// BenchmarkQuery24h reads a day of a device: 1,440 readings of 3 fields, as JSON, NDJSON and CSV. It
// reads them from chunks, from the memtable, and from both.
func BenchmarkQuery24h(b *testing.B) {
	at := time.Now().Add(-25 * time.Hour).Truncate(time.Minute)
	for _, place := range []struct {
		name   string
		tail   int64
		chunks int // number of readings of each device that are in chunks
	}{{"chunks", 1, 1440}, {"memtable", 512 << 20, 0}, {"both", 1 << 20, 1000}} {
		b.Run(place.name, func(b *testing.B) {
			h := benched(b, place.tail)
			for _, part := range [][2]int{{0, place.chunks}, {place.chunks, 1440}} {
				for device := range 20 {
					var body bytes.Buffer
					for n := part[0]; n < part[1]; n++ {
						appendBenched(&body, device, at.Add(time.Duration(n)*time.Minute).UnixMilli(), n+device)
					}
					postBenched(b, h, &body)
				}
			}
			for _, format := range []string{"json", "ndjson", "csv"} {
				b.Run(format, func(b *testing.B) { readBenched(b, h, at, format) })
			}
		})
	}
}

// readBenched reads the day of one device in each iteration, in turn for all 20 devices.
func readBenched(b *testing.B, h http.Handler, at time.Time, format string) {
	b.ReportAllocs()
	device, before := 0, processorTime(b)
	for b.Loop() {
		device = (device + 7) % 20
		url := fmt.Sprintf("/v1/streams/bench/devices/dev-%04d/readings?from=%d&format=%s", device, at.UnixMilli(), format)
		h.ServeHTTP(&discard{http.Header{}}, httptest.NewRequest(http.MethodGet, "http://localhost"+url, nil))
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1440, "cpu-ns/reading")
}

// processorTime returns the processor time of the process in nanoseconds. Unlike elapsed time, it
// hardly depends on other processes.
func processorTime(b testing.TB) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
