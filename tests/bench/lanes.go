package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	liveConns = 8
	liveEvery = 20 * time.Millisecond // time between the writes of one connection
	liveAlone = 5 * time.Second       // duration of the writes without an upload
)

// lanesPart measures live writes while other connections upload a backlog.
type lanesPart struct{ *bench }

// runPart measures live writes of one reading, alone and during the upload of a million readings
// over four connections.
func (b lanesPart) runPart() error {
	var late [][]byte
	for i := range uploads {
		late = append(late, backlog(ndjson, "", i, b.end)...)
	}
	for i := range late[:len(late)/5] { // adds bodies, so that the upload has about a million readings
		late = append(late, backlog(ndjson, "", uploads+i/9, b.end)[i%9])
	}
	var alone50, alone99, beside50, beside99, ratio, rate []float64
	for range b.rounds {
		dir := b.folder("lanes")
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		s, err := start(b.binary, dir)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), liveAlone)
		p50, p99, err := b.live(ctx, s.addr)
		cancel()
		if err != nil {
			return err
		}
		alone50, alone99 = append(alone50, p50), append(alone99, p99)
		ctx, cancel = context.WithCancel(context.Background())
		var took time.Duration
		var sendErr error
		go func() {
			defer cancel()
			took, sendErr = send(s.addr, "application/x-ndjson", late, 4)
		}()
		q50, q99, err := b.live(ctx, s.addr)
		cancel()
		if err != nil || sendErr != nil {
			return fmt.Errorf("live: %w, backlog: %w", err, sendErr)
		}
		beside50, beside99, ratio = append(beside50, q50), append(beside99, q99), append(ratio, q99/p99)
		rate = append(rate, float64(len(late))*batchOf/took.Seconds())
		if err := s.stop(); err != nil {
			return err
		}
	}
	b.out.median("live writes alone: p50", alone50, "ms")
	b.out.median("live writes alone: p99", alone99, "ms")
	b.out.median("live writes beside a backlog: p50", beside50, "ms")
	b.out.median("live writes beside a backlog: p99", beside99, "ms")
	b.out.median("live writes: p99 beside a backlog / alone", ratio, "")
	b.out.median("backlog beside live writes", rate, "readings/s")
	return nil
}

// live writes single readings at a steady rate until ctx ends. It returns percentiles of their
// latency.
func (b lanesPart) live(ctx context.Context, addr string) (p50, p99 float64, err error) {
	lat := make([][]time.Duration, liveConns)
	errs := make([]error, liveConns)
	var wg sync.WaitGroup
	for i := range liveConns {
		wg.Go(func() { lat[i], errs[i] = b.liveConn(ctx, addr, i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, 0, err
		}
	}
	all := slices.Concat(lat...)
	slices.Sort(all)
	return ms(all[len(all)/2]), ms(all[len(all)*99/100]), nil
}

func (b lanesPart) liveConn(ctx context.Context, addr string, i int) (lat []time.Duration, err error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	dev := newSensor(i, fmt.Sprintf("live-%02d", i))
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	var body []byte
	for {
		select {
		case <-ctx.Done():
			return lat, nil
		case <-tick.C:
		}
		dev.advance()
		now := time.Now()
		body = ndjson(body[:0], dev, now.UnixMilli())
		if _, err := c.post("application/json", body); err != nil {
			return nil, err
		}
		lat = append(lat, time.Since(now))
	}
}
