package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	othersConns = 32
	othersEvery = 20 * time.Millisecond // time between the writes of a connection; together, 1,600 readings per second
	hotConns    = 48
	splitWithin = 20 * time.Second
)

// scaleHot measures the writes of many devices, first alone, and then while another device sends more than
// its partition accepts.
func (b onStandIn) scaleHot(sim *standIn) error {
	const prefix = "scalehot"
	servers, err := b.serveOn(sim, prefix, 1)
	if err != nil {
		return err
	}
	others := &loadPlan{addrs: []string{servers[0].addr}, conns: othersConns, every: othersEvery, batch: 1, reading: fleetOf("other", othersConns, 10)}
	hot := &loadPlan{addrs: others.addrs, conns: hotConns, batch: 1, reading: hotReadings()}
	_, err = others.driveFor(scaleWarmUp)
	if err = errors.Join(err, sim.warm(prefix)); err != nil {
		return errors.Join(err, stopAll(servers))
	}
	phases, hotLoad, splits, err := b.driveHot(sim, prefix, others, hot)
	if err != nil {
		return errors.Join(err, stopAll(servers))
	}
	b.out.line("hot device: accepted", hotLoad.rate(), fmt.Sprintf("readings/s, %d rejected", hotLoad.failed))
	b.out.line("hot device: partitions split for heat", float64(splits), "")
	for _, p := range phases {
		b.out.line("others, "+p.what, p.others.rate(), fmt.Sprintf("readings/s, %d rejected", p.others.failed))
		b.out.line("others, "+p.what+": p50", p.others.percentile(50), "ms")
		b.out.line("others, "+p.what+": p99", p.others.percentile(99), "ms")
		b.out.line("others, "+p.what+": throttled requests", float64(p.throttled), fmt.Sprintf("; %d of the hot device", p.hotThrottled))
	}
	_, peak, err := servers[0].memory()
	b.out.line("hot device: memory at its peak", float64(peak), "MiB")
	return errors.Join(err, stopAll(servers))
}

func (p *loadPlan) driveFor(d time.Duration) (loadResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return p.drive(ctx)
}

// hotPhase is the result of one phase of driveHot. The fields throttled and hotThrottled are the numbers of
// throttled requests: of the other devices, and of the hot device.
type hotPhase struct {
	what                    string
	others                  loadResult
	throttled, hotThrottled int64
}

// driveHot measures the load of the other devices in three phases. They are before the hot device
// sends, until its partition is split, and after the split.
func (b onStandIn) driveHot(sim *standIn, prefix string, others, hot *loadPlan) (phases []hotPhase, hotLoad loadResult, splits int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hotDone := make(chan error, 1)
	_, before, err := sim.usage(prefix)
	for _, what := range []string{"before", "until the split", "after the split"} {
		if err != nil {
			return nil, hotLoad, 0, err
		}
		if len(phases) == 1 {
			go func() {
				var err error
				hotLoad, err = hot.drive(ctx)
				hotDone <- err
			}()
		}
		ph := hotPhase{what: what}
		end := time.Now().Add(splitWithin)
		for part := range 100 { // each part lasts two seconds; three parts suffice, except in the phase that waits for the split
			res, err := others.driveFor(scaleFor / 4)
			if err != nil {
				return nil, hotLoad, 0, err
			}
			ph.others.add(&res)
			_, now, err := sim.usage(prefix)
			if err != nil {
				return nil, hotLoad, 0, err
			}
			ph.throttled, ph.hotThrottled = now.ThrottledOthers-before.ThrottledOthers, now.ThrottledHottest-before.ThrottledHottest
			if splits = now.Splits; len(phases) != 1 && part >= 2 || len(phases) == 1 && splits > 0 || time.Now().After(end) {
				before = now
				break
			}
		}
		phases = append(phases, ph)
	}
	cancel()
	return phases, hotLoad, splits, <-hotDone
}

func (l *loadResult) add(more *loadResult) {
	l.readings, l.failed, l.took = l.readings+more.readings, l.failed+more.failed, l.took+more.took
	l.latencies = append(l.latencies, more.latencies...)
	slices.Sort(l.latencies)
}

// hotReadings returns a function for loadPlan.reading. The function appends readings of one device,
// each at a different millisecond.
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
