package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// load measures a query for 24 hours of readings while 10,000 readings per second arrive.
func (b *bench) load() error {
	s, err := start(b.binary, b.folder("ndjson"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	var sent atomic.Int64
	go func() { done <- trickle(ctx, s.addr, b.end, &sent) }()
	begin := time.Now()
	var p50s, p99s []float64
	for range b.rounds {
		p50, p99, err := timeReadings(s.addr, 2000, b.dayOf, minutes)
		if err != nil {
			return err
		}
		p50s, p99s = append(p50s, p50), append(p99s, p99)
	}
	rate := float64(sent.Load()) / time.Since(begin).Seconds()
	cancel()
	if err := <-done; err != nil {
		return err
	}
	b.out.median("24 h of a device under load: p50", p50s, "ms")
	b.out.median("24 h of a device under load: p99", p99s, "ms")
	b.out.line("… while there arrived", rate, "readings/s")
	return s.stop()
}

// trickle sends 10,000 readings a second in batches of 100.
func trickle(ctx context.Context, addr string, at time.Time, sent *atomic.Int64) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	fleet := make([]*sensor, devices)
	for i := range fleet {
		fleet[i] = newSensor(i, fmt.Sprintf("dev-%04d", i))
	}
	next := at.UnixMilli()
	for i := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		var body []byte
		for range 100 {
			s := fleet[i%devices]
			s.advance()
			body = ndjson(body, s, next+int64(i/devices)*1000)
			i++
		}
		if _, err := c.post("application/x-ndjson", body); err != nil {
			return err
		}
		sent.Add(100)
	}
}
