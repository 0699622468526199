package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	othersConns = 32
	othersEvery = 20 * time.Millisecond // 1,600 readings a second
	hotConns    = 48
)

// scaleHot measures the readings of other devices before and while one device sends more than
// its partition accepts.
func (b *bench) scaleHot(sim *standIn) error {
	const prefix = "scalehot"
	servers, err := b.serveOn(sim, prefix, 1)
	if err != nil {
		return err
	}
	others := &loadPlan{addrs: []string{servers[0].addr}, conns: othersConns, every: othersEvery, batch: 1, reading: fleetOf("other", othersConns, 10)}
	hot := &loadPlan{addrs: others.addrs, conns: hotConns, batch: 1, reading: hotReadings()}
	driveFor := func(p *loadPlan, d time.Duration) (loadResult, error) {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		return p.drive(ctx)
	}
	_, err = driveFor(others, scaleWarmUp)
	if err = errors.Join(err, sim.warm(prefix)); err != nil {
		return errors.Join(err, stopAll(servers))
	}
	var before, during, after, hotLoad loadResult
	if before, err = driveFor(others, scaleFor/2); err != nil {
		return errors.Join(err, stopAll(servers))
	}
	usageBefore, _, err := sim.usage(prefix)
	if err != nil {
		return errors.Join(err, stopAll(servers))
	}
	var hotErr, duringErr, afterErr error
	var wg sync.WaitGroup
	wg.Go(func() { hotLoad, hotErr = driveFor(hot, 2*splitAfter+scaleFor) })
	during, duringErr = driveFor(others, 2*splitAfter)
	after, afterErr = driveFor(others, scaleFor)
	wg.Wait()
	usageAfter, own, err := sim.usage(prefix)
	if err = errors.Join(err, hotErr, duringErr, afterErr); err != nil {
		return errors.Join(err, stopAll(servers))
	}
	b.out.line("hot device: accepted", hotLoad.rate(), fmt.Sprintf("readings/s; %d requests throttled, %d readings rejected", usageAfter.Throttled-usageBefore.Throttled, hotLoad.failed))
	b.out.line("hot device: partitions split for heat", float64(own.Splits), "")
	for _, c := range []struct {
		what string
		l    *loadResult
	}{{"before", &before}, {"in the first 10 s, with the split after 5 s", &during}, {"afterwards", &after}} {
		b.out.line("others, "+c.what+": p50", c.l.percentile(50), "ms")
		b.out.line("others, "+c.what+": p99", c.l.percentile(99), "ms")
		b.out.line("others, "+c.what, c.l.rate(), fmt.Sprintf("readings/s, %d rejected", c.l.failed))
	}
	_, peak, err := servers[0].memory()
	b.out.line("hot device: memory at its peak", float64(peak), "MiB")
	return errors.Join(err, stopAll(servers))
}

// hotReadings returns the readings of one device, each at a millisecond of its own.
func hotReadings() func(b []byte, conn, i int) []byte {
	begin := time.Now().Add(-time.Hour).UnixMilli()
	sensors := make([]*sensor, hotConns)
	for i := range sensors {
		sensors[i] = newSensor(i, "hot")
	}
	return func(b []byte, conn, i int) []byte {
		sensors[conn].advance()
		return ndjson(b, sensors[conn], begin+int64(i*hotConns+conn))
	}
}
