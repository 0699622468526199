package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"
)

const (
	many       = 100     // number of devices in one request for latest readings
	registered = 100_000 // number of listed devices
	pageOf     = 1000
)

// fleetPart measures lists and the latest readings of many devices.
type fleetPart struct{ *bench }

// runPart measures the latest readings of 100 devices per request, and lists of 100,000 devices.
func (b fleetPart) runPart() error {
	if err := b.serve("ndjson", b.latestOfMany); err != nil {
		return err
	}
	if err := b.register(); err != nil {
		return err
	}
	return b.serve("fleet", b.list)
}

// serve runs f against a server for a folder, and stops the server.
func (b *bench) serve(name string, f func(addr string) error) error {
	s, err := start(b.binary, b.folder(name))
	if err != nil {
		return err
	}
	return errors.Join(f(s.addr), s.stop())
}

func (b fleetPart) latestOfMany(addr string) error {
	var targets []string // request paths that together include all devices
	for from := range devices / many {
		q := url.Values{}
		for i := range many {
			q.Add("device", fmt.Sprintf("dev-%04d", from+i*devices/many))
		}
		targets = append(targets, "/v1/streams/bench/latest?"+q.Encode())
	}
	var p50s, p99s []float64
	for range b.rounds {
		p50, p99, err := timeReadings(addr, 1000, func(i int) string { return targets[i%len(targets)] }, many)
		if err != nil {
			return err
		}
		p50s, p99s = append(p50s, p50), append(p99s, p99)
	}
	b.out.median("latest of 100 devices in one call: p50", p50s, "ms")
	b.out.median("latest of 100 devices in one call: p99", p99s, "ms")
	return nil
}

// register writes two readings of each device. After the first one, the server registers the device.
// After the second one, it records the last-seen time. When a server stops, it writes all pending
// records. So each of the two steps uses its own server, and the measured time includes its stop.
func (b fleetPart) register() error {
	if err := os.RemoveAll(b.folder("fleet")); err != nil {
		return err
	}
	for i, what := range []string{"registered", "seen again"} {
		bodies := readingOfEach(b.end.Add(time.Duration(i-2) * time.Minute))
		begin := time.Now()
		err := b.serve("fleet", func(addr string) error {
			_, err := send(addr, "application/x-ndjson", bodies, 4)
			return err
		})
		if err != nil {
			return err
		}
		b.out.line("100,000 devices "+what+", until the server has stopped", time.Since(begin).Seconds(), "s")
	}
	return nil
}

func readingOfEach(at time.Time) (bodies [][]byte) {
	var body []byte
	for i := range registered {
		body = ndjson(body, newSensor(i, nameOf(i)), at.UnixMilli())
		if (i+1)%batchOf == 0 || i == registered-1 {
			bodies, body = append(bodies, body), nil
		}
	}
	return bodies
}

// listed has the parts of a page of devices that listAll checks.
type listed struct {
	Devices []struct {
		Device     string
		CreatedAt  time.Time `json:"created_at"`
		LastSeenAt time.Time `json:"last_seen_at"`
	}
	Next string
}

func nameOf(i int) string { return fmt.Sprintf("dev-%06d", i) }

// list measures the requests for all active devices, page by page. The time to check the answers is
// not included.
func (b fleetPart) list(addr string) error {
	var all, p50s []float64
	for range b.rounds {
		pages, err := listAll(addr)
		if err != nil {
			return err
		}
		var sum time.Duration
		for _, took := range pages {
			sum += took
		}
		slices.Sort(pages)
		all, p50s = append(all, sum.Seconds()), append(p50s, ms(pages[len(pages)/2]))
	}
	b.out.median("list of 100,000 active devices, pages of 1,000", all, "s")
	b.out.median("… a page: p50", p50s, "ms")
	return nil
}

// listAll lists all active devices, and returns the time of each page.
func listAll(addr string) (pages []time.Duration, err error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	n := 0
	for next := ""; n == 0 || next != ""; {
		target := fmt.Sprintf("/v1/devices?status=active&limit=%d", pageOf)
		if next != "" {
			target += "&cursor=" + url.QueryEscape(next)
		}
		t := time.Now()
		body, err := c.get(target)
		if err != nil {
			return nil, err
		}
		pages = append(pages, time.Since(t))
		var page listed
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, err
		}
		if len(page.Devices) == 0 {
			return nil, fmt.Errorf("page %d is empty, %d devices were listed before", len(pages), n)
		}
		for i := range page.Devices {
			d := &page.Devices[i]
			if want := nameOf(n); d.Device != want || !d.LastSeenAt.After(d.CreatedAt) {
				return nil, fmt.Errorf("device %d of the list is %s, registered %v, last seen %v: want %s, seen again", n, d.Device, d.CreatedAt, d.LastSeenAt, want)
			}
			n++
		}
		next = page.Next
	}
	if n != registered {
		return nil, fmt.Errorf("%d devices were listed, want %d", n, registered)
	}
	return pages, nil
}
