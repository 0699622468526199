package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Prices of us-east-1 on demand, as in docs/benchmarks.md.
const (
	dollarsPerWrite = 0.625e-6
	dollarsPerRead  = 0.125e-6
	secondsOfMonth  = 365.25 / 12 * 24 * 3600
)

type loadResult struct {
	readings, failed int64
	took             time.Duration
	latencies        []time.Duration // in ascending order
}

func (l *loadResult) rate() float64 { return float64(l.readings) / l.took.Seconds() }

func (l *loadResult) percentile(p int) float64 {
	if len(l.latencies) == 0 {
		return 0
	}
	return ms(l.latencies[(len(l.latencies)-1)*p/100])
}

// loadPlan is a load of requests over many connections.
type loadPlan struct {
	addrs []string
	conns int
	every time.Duration // time between the requests of a connection; 0 means no pause
	batch int           // number of readings in a request
	// reading appends reading i of a connection.
	reading func(b []byte, conn, i int) []byte
}

// drive sends a load until ctx ends. If the answer to a request has a rejected reading, all readings of
// the request count as failed.
func (p *loadPlan) drive(ctx context.Context) (res loadResult, err error) {
	latencies, errs := make([][]time.Duration, p.conns), make([]error, p.conns)
	var readings, failed atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range p.conns {
		wg.Go(func() { latencies[i], errs[i] = p.driveConn(ctx, i, &readings, &failed) })
	}
	wg.Wait()
	res = loadResult{readings: readings.Load(), failed: failed.Load(), took: time.Since(begin), latencies: slices.Concat(latencies...)}
	slices.Sort(res.latencies)
	return res, errors.Join(errs...)
}

func (p *loadPlan) driveConn(ctx context.Context, n int, readings, failed *atomic.Int64) (latencies []time.Duration, err error) {
	c, err := dial(p.addrs[n%len(p.addrs)])
	if err != nil {
		return nil, err
	}
	defer c.close()
	var body []byte
	for i, at := 0, time.Now(); ctx.Err() == nil; {
		if p.every > 0 {
			at = at.Add(p.every)
			time.Sleep(time.Until(at))
		}
		body = body[:0]
		for range p.batch {
			body = p.reading(body, n, i)
			i++
		}
		t := time.Now()
		answer, err := c.post("application/x-ndjson", body)
		if err != nil {
			return latencies, err
		}
		latencies = append(latencies, time.Since(t))
		if bytes.Contains(answer, []byte(`"rejected":0`)) {
			readings.Add(int64(p.batch))
		} else {
			failed.Add(int64(p.batch))
		}
	}
	return latencies, nil
}

// fleetOf returns a function for loadPlan.reading. The function appends readings of devices that
// report now. Each connection has its own devices.
func fleetOf(name string, conns, each int) func(b []byte, conn, i int) []byte {
	sensors := make([][]*sensor, conns)
	last := make([][]int64, conns)
	for c := range conns {
		last[c] = make([]int64, each)
		for d := range each {
			sensors[c] = append(sensors[c], newSensor(c*each+d, fmt.Sprintf("%s-%03d-%03d", name, c, d)))
		}
	}
	return func(b []byte, conn, i int) []byte {
		d := i % each
		at := max(time.Now().UnixMilli(), last[conn][d]+1) // readings of a device have different times
		last[conn][d] = at
		s := sensors[conn][d]
		s.advance()
		return ndjson(b, s, at)
	}
}

// measured is a load with its cost.
type measured struct {
	loadResult

	cpu, simCPU float64 // processor time of the servers and of the stand-in, in µs per reading
	writes      float64 // write units per reading, of the tables whose names have the prefix of the servers
	reads       float64 // read units per reading, of the same tables
	idle        float64 // share of the time in which the processors were idle
	throttled   int64   // number of throttled requests
	bytes       float64 // stored bytes per reading
}

// measure sends a load for scaleWarmUp, and then measures it for scaleFor.
func (b onStandIn) measure(sim *standIn, servers []*server, prefix string, p *loadPlan) (m measured, err error) {
	for _, s := range servers {
		p.addrs = append(p.addrs, s.addr)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scaleWarmUp)
	_, err = p.drive(ctx)
	cancel()
	if err != nil {
		return m, err
	}
	if err := sim.warm(prefix); err != nil { // the load may have created tables
		return m, err
	}
	allBefore, before, err := sim.usage(prefix)
	if err != nil {
		return m, err
	}
	cpu, simCPU, idle := cpuOf(servers), sim.process.cpu(), machineIdle()
	ctx, cancel = context.WithTimeout(context.Background(), scaleFor)
	defer cancel()
	if m.loadResult, err = p.drive(ctx); err != nil {
		return m, err
	}
	n := float64(m.readings)
	m.cpu, m.simCPU = float64((cpuOf(servers)-cpu).Microseconds())/n, float64((sim.process.cpu()-simCPU).Microseconds())/n
	m.idle = idle()
	allAfter, after, err := sim.usage(prefix)
	m.writes, m.reads = (after.WriteUnits-before.WriteUnits)/n, (after.ReadUnits-before.ReadUnits)/n
	m.throttled = allAfter.Throttled - allBefore.Throttled
	m.bytes = float64(after.Bytes-before.Bytes) / n
	return m, err
}

func (m *measured) print(b *bench, what string) {
	b.out.line(what, m.rate(), "readings/s")
	b.out.line(what+": Varve's processor time", m.cpu, "µs/reading")
	b.out.line(what+": the stand-in's", m.simCPU, "µs/reading")
	b.out.line(what+": p50", m.percentile(50), "ms")
	b.out.line(what+": p99", m.percentile(99), "ms")
	b.out.line(what+": units", m.writes, "write/reading")
	if m.failed > 0 || m.throttled > 0 {
		b.out.line(what+": rejected", float64(m.failed), fmt.Sprintf("readings; %d requests throttled", m.throttled))
	}
	b.out.line(what+": processors idle", 100*m.idle, "%")
}

// bill prints the cost of a month in which readings arrive at the given rate.
func (m *measured) bill(b *bench, what string, rate float64) {
	n := rate * secondsOfMonth
	writes, reads := n*m.writes*dollarsPerWrite, n*m.reads*dollarsPerRead
	b.out.line(fmt.Sprintf("bill of a month, %s at %s readings/s", what, figure(rate)), writes+reads, fmt.Sprintf("dollars (%s writes, %s reads)", figure(writes), figure(reads)))
	b.out.line("… storage of that month, at 0.25 dollars a GB", n*m.bytes/1e9*0.25, "dollars a month")
}

// scaleLive measures how fast one process writes live readings: one per request, and ten per request.
func (b onStandIn) scaleLive(sim *standIn) error {
	servers, err := b.serveOn(sim, "scalelive", 1)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what        string
		conns, size int
	}{{"live, one a request", scaleConns, 1}, {"live, ten devices a request", scaleConns / 8, 10}} {
		p := &loadPlan{conns: c.conns, batch: c.size, reading: fleetOf(fmt.Sprintf("live%d", c.size), c.conns, 10)}
		m, err := b.measure(sim, servers, "scalelive", p)
		if err != nil {
			return errors.Join(err, stopAll(servers))
		}
		m.print(b.bench, c.what)
		m.bill(b.bench, c.what, 10000)
	}
	now, peak, err := servers[0].memory()
	b.out.line("live: memory at its peak", float64(peak), fmt.Sprintf("MiB, now %d", now))
	return errors.Join(err, stopAll(servers))
}

// scaleUpload measures devices that upload the readings of 30 days, with a row window of an hour.
func (b onStandIn) scaleUpload(sim *standIn) error {
	servers, err := b.serveOn(sim, "scaleup", 1, "streams.bench.row_window=1h")
	if err != nil {
		return err
	}
	var late [][]byte
	for i := range uploads {
		late = append(late, backlog(ndjson, "", i, b.end)...)
	}
	first := backlog(ndjson, "", uploads, b.end) // creates the tables
	if _, err = send(servers[0].addr, "application/x-ndjson", first, 1); err == nil {
		err = sim.warm("scaleup")
	}
	_, before, usageErr := sim.usage("scaleup")
	cpu, simCPU := cpuOf(servers), sim.process.cpu()
	var took time.Duration
	if err = errors.Join(err, usageErr); err == nil {
		took, err = send(servers[0].addr, "application/x-ndjson", late, 8)
	}
	if err != nil {
		return errors.Join(err, stopAll(servers))
	}
	m := measured{loadResult: loadResult{readings: upTotal, took: took}}
	m.cpu, m.simCPU = float64((cpuOf(servers)-cpu).Microseconds())/upTotal, float64((sim.process.cpu()-simCPU).Microseconds())/upTotal
	_, after, err := sim.usage("scaleup")
	m.writes, m.reads = (after.WriteUnits-before.WriteUnits)/upTotal, (after.ReadUnits-before.ReadUnits)/upTotal
	m.bytes = float64(after.Bytes-before.Bytes) / upTotal
	b.out.line("upload, rows of an hour", m.rate(), "readings/s")
	b.out.line("upload: Varve's processor time", m.cpu, "µs/reading")
	b.out.line("upload: the stand-in's", m.simCPU, "µs/reading")
	b.out.line("upload: units", m.writes, "write/reading")
	m.bill(b.bench, "upload", 10000)
	_, peak, memoryErr := servers[0].memory()
	b.out.line("upload: memory at its peak", float64(peak), "MiB")
	return errors.Join(err, memoryErr, stopAll(servers))
}

// scaleProcesses compares one process with three, with the same load.
func (b onStandIn) scaleProcesses(sim *standIn) error {
	for _, n := range []int{1, 3} {
		prefix := fmt.Sprintf("scale%d", n)
		servers, err := b.serveOn(sim, prefix, n)
		if err != nil {
			return err
		}
		p := &loadPlan{conns: scaleConns, batch: 1, reading: fleetOf(prefix, scaleConns, 10)}
		m, err := b.measure(sim, servers, prefix, p)
		if err == nil {
			m.print(b.bench, fmt.Sprintf("live, %d processes", n))
		}
		if err := errors.Join(err, stopAll(servers)); err != nil {
			return err
		}
	}
	return nil
}
