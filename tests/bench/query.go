package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// timeReadings measures n requests for readings over one connection, and returns percentiles of
// their time.
func timeReadings(addr string, n int, target func(i int) string, want int) (p50, p99 float64, err error) {
	return askFor(addr, n, target, `"arrived"`, want)
}

// askFor measures n requests over one connection, and returns percentiles of their time. Each answer
// must contain the given text exactly the given number of times.
func askFor(addr string, n int, target func(i int) string, what string, want int) (p50, p99 float64, err error) {
	c, err := dial(addr)
	if err != nil {
		return 0, 0, err
	}
	defer c.close()
	var lat []time.Duration
	for i := range n + n/10 {
		t := time.Now()
		body, err := c.get(target(i))
		if err != nil {
			return 0, 0, err
		}
		if i >= n/10 { // the earlier requests only warm up the server
			lat = append(lat, time.Since(t))
		}
		if got := bytes.Count(body, []byte(what)); got != want {
			return 0, 0, fmt.Errorf("%s: %d times %s, want %d", target(i), got, what, want)
		}
	}
	slices.Sort(lat)
	return ms(lat[len(lat)/2]), ms(lat[len(lat)*99/100]), nil
}

func (b *bench) dayOf(i int) string {
	from, to := b.end.Add(-24*time.Hour).UnixMilli(), b.end.UnixMilli()
	return fmt.Sprintf("/v1/streams/bench/devices/dev-%04d/readings?from=%d&to=%d", i*37%devices, from, to)
}

func latestOf(i int) string {
	return fmt.Sprintf("/v1/streams/bench/devices/dev-%04d/latest", i*37%devices)
}

// query measures queries of an idle server. The server has been restarted since the last write, so
// all readings are in chunks.
func (b *bench) query() error {
	s, err := start(b.binary, b.folder("ndjson"))
	if err != nil {
		return err
	}
	var day50, day99, last50, last99 []float64
	for range b.rounds {
		p50, p99, err := timeReadings(s.addr, 1000, b.dayOf, minutes)
		if err != nil {
			return err
		}
		day50, day99 = append(day50, p50), append(day99, p99)
		if p50, p99, err = timeReadings(s.addr, 5000, latestOf, 1); err != nil {
			return err
		}
		last50, last99 = append(last50, p50), append(last99, p99)
	}
	b.out.median("24 h of a device (1,440 readings): p50", day50, "ms")
	b.out.median("24 h of a device (1,440 readings): p99", day99, "ms")
	b.out.median("latest of a device: p50", last50, "ms")
	b.out.median("latest of a device: p99", last99, "ms")
	return s.stop()
}
