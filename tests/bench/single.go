package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// single measures requests of one reading each, from 64 connections.
func (b *bench) single() error {
	const conns, each = 64, 2000
	var rates, p50, p99, cpus []float64
	for range b.rounds {
		dir := b.folder("single")
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		s, err := start(b.binary, dir)
		if err != nil {
			return err
		}
		lat := make([][]time.Duration, conns)
		var failed atomic.Value
		var wg sync.WaitGroup
		begin, cpu := time.Now(), s.cpu()
		for i := range conns {
			wg.Go(func() {
				if err := b.device(s.addr, i, each, &lat[i]); err != nil {
					failed.Store(err)
				}
			})
		}
		wg.Wait()
		took := time.Since(begin)
		if err, ok := failed.Load().(error); ok {
			return err
		}
		cpus = append(cpus, float64((s.cpu()-cpu).Microseconds())/float64(conns*each))
		all := slices.Concat(lat...)
		slices.Sort(all)
		rates = append(rates, conns*each/took.Seconds())
		p50, p99 = append(p50, ms(all[len(all)/2])), append(p99, ms(all[len(all)*99/100]))
		if err := s.stop(); err != nil {
			return err
		}
	}
	b.out.median("single readings, 64 connections", rates, "requests/s")
	b.out.median("single readings, 64 connections: p50", p50, "ms")
	b.out.median("single readings, 64 connections: p99", p99, "ms")
	b.out.median("single readings, 64 connections: server's processor time", cpus, "µs/request")
	return nil
}

// device sends readings one by one over one connection.
func (b *bench) device(addr string, i, each int, lat *[]time.Duration) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	dev := newSensor(i, fmt.Sprintf("dev-%04d", i))
	var body []byte
	for j := range each {
		dev.advance()
		body = ndjson(body[:0], dev, b.end.Add(time.Duration(j)*time.Second).UnixMilli()-3600_000)
		t := time.Now()
		if _, err := c.post("application/json", body); err != nil {
			return err
		}
		*lat = append(*lat, time.Since(t))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
