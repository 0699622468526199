package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store/local"
)

const path = "/v1/streams/bench/readings"

// bench is one run of all parts.
type bench struct {
	binary string
	dir    string
	rounds int
	end    time.Time // of the day; the backlog ends there too
	out    *report
}

func run(binary, only, dir string, rounds int) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "varve-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	b := &bench{binary: binary, dir: dir, rounds: rounds, end: time.Now().Truncate(24 * time.Hour), out: newReport()}
	fmt.Printf("%s, %d processors, %s, %s\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), processor(), runtime.Version())
	for _, part := range []struct {
		name string
		run  func() error
	}{{"csv", b.csv}, {"single", b.single}, {"ndjson", b.ndjson}, {"query", b.query}, {"load", b.load}, {"disk", b.disk}, {"drop", b.drop}} {
		if only != "" && only != part.name && !(part.name == "ndjson" && b.needsData(only)) {
			continue
		}
		if err := part.run(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// needsData reports whether a part works on the data that ndjson leaves, and it
// is not there.
func (b *bench) needsData(part string) bool {
	_, err := os.Stat(b.folder("ndjson"))
	return err != nil && slices.Contains([]string{"query", "load", "disk", "drop"}, part)
}

// send posts bodies over several connections and returns how long it took.
func send(addr, contentType string, bodies [][]byte, conns int) (time.Duration, error) {
	queue := make(chan []byte, len(bodies))
	for _, b := range bodies {
		queue <- b
	}
	close(queue)
	errs := make(chan error, conns)
	begin := time.Now()
	for range conns {
		go func() {
			c, err := dial(addr)
			if err != nil {
				errs <- err
				return
			}
			defer c.close()
			for body := range queue {
				answer, err := c.post(path, contentType, body)
				if err == nil && !bytes.Contains(answer, []byte(`"duplicates":0,"rejected":0`)) {
					err = fmt.Errorf("not all were stored: %.200s", answer)
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	var err error
	for range conns {
		err = errors.Join(err, <-errs)
	}
	return time.Since(begin), err
}

func (b *bench) folder(name string) string { return filepath.Join(b.dir, name) }

// bulk measures writing the day and the backlog into a fresh server, and leaves
// the last folder behind.
func (b *bench) bulk(name, contentType string, f form, header string) error {
	dayBodies := day(f, header, b.end.Add(-24*time.Hour))
	var late [][]byte
	for i := range uploads {
		late = append(late, backlog(f, header, i, b.end)...)
	}
	var daily, lateRate, cpu []float64
	for range b.rounds {
		dir := b.folder(name)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		s, err := start(b.binary, dir)
		if err != nil {
			return err
		}
		took, err := send(s.addr, contentType, dayBodies, 4)
		if err != nil {
			return err
		}
		cpu = append(cpu, float64(s.cpu().Microseconds())/dayTotal)
		daily = append(daily, dayTotal/took.Seconds())
		if took, err = send(s.addr, contentType, late, 4); err != nil {
			return err
		}
		lateRate = append(lateRate, upTotal/took.Seconds())
		_, peak, err := s.memory()
		if err != nil {
			return err
		}
		b.out.line(name+": memory at its peak", float64(peak), "MiB")
		if err := s.stop(); err != nil {
			return err
		}
	}
	b.out.median(name+": a day of 1,000 devices, batches of 5,000, 4 connections", daily, "readings/s")
	b.out.median(name+": 20 uploads of 30 days", lateRate, "readings/s")
	b.out.median(name+": server's processor time", cpu, "µs/reading")
	return nil
}

func (b *bench) ndjson() error { return b.bulk("ndjson", "application/x-ndjson", ndjson, "") }
func (b *bench) csv() error    { return b.bulk("csv", "text/csv", csv, csvHeader) }

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
	b.out.median("single readings, 64 connections: server's processor time", cpus, "µs/request")
	return nil
}

// device is one connection that sends readings one by one.
func (b *bench) device(addr string, i, each int, lat *[]time.Duration) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	dev := newSensor(i, fmt.Sprintf("dev-%04d", i))
	var body []byte
	for j := range each {
		dev.step()
		body = ndjson(body[:0], dev, b.end.Add(time.Duration(j)*time.Second).UnixMilli()-3600_000)
		t := time.Now()
		if _, err := c.post(path, "application/json", body); err != nil {
			return err
		}
		*lat = append(*lat, time.Since(t))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ask measures a request's time over one connection.
func ask(addr string, n int, target func(i int) string, want int) (p50, p99 float64, err error) {
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
		if i >= n/10 { // the first ones warm up
			lat = append(lat, time.Since(t))
		}
		if got := bytes.Count(body, []byte(`"arrived"`)); got != want {
			return 0, 0, fmt.Errorf("%s: %d readings, want %d", target(i), got, want)
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

// query measures questions to a server that has nothing else to do: first as it
// is after writing, then after a restart, when all readings are in chunks.
func (b *bench) query() error {
	s, err := start(b.binary, b.folder("ndjson"))
	if err != nil {
		return err
	}
	var day50, day99, last50, last99 []float64
	for range b.rounds {
		p50, p99, err := ask(s.addr, 1000, b.dayOf, minutes)
		if err != nil {
			return err
		}
		day50, day99 = append(day50, p50), append(day99, p99)
		if p50, p99, err = ask(s.addr, 5000, latestOf, 1); err != nil {
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

// load measures the 24 h query while 10,000 readings/s arrive.
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
		p50, p99, err := ask(s.addr, 2000, b.dayOf, minutes)
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

// trickle sends 10,000 readings a second, in batches of 100.
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
			s.step()
			body = ndjson(body, s, next+int64(i/devices)*1000)
			i++
		}
		if _, err := c.post(path, "application/x-ndjson", body); err != nil {
			return err
		}
		sent.Add(100)
	}
}

// disk measures what readings take when they have come to rest.
func (b *bench) disk() error {
	dir := b.folder("ndjson")
	bytes, err := settled(dir)
	if err != nil {
		return err
	}
	n, err := b.stored(dir)
	if err != nil {
		return err
	}
	b.out.line("disk, server stopped", float64(bytes)/float64(n), "B/reading")
	return nil
}

// stored counts the readings in a folder.
func (b *bench) stored(dir string) (n int64, err error) {
	st, err := local.Open(local.Options{Dir: dir})
	if err != nil {
		return 0, err
	}
	e, err := engine.Open(context.Background(), engine.Options{Store: st, Holder: "embedded"})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	infos, err := e.Rotator.Tables(context.Background())
	for _, in := range infos {
		n += in.Readings
	}
	return n, err
}

// settled waits until a folder's size no longer changes.
func settled(dir string) (int64, error) {
	last, err := usage(dir)
	for same := 0; err == nil && same < 5; {
		time.Sleep(100 * time.Millisecond)
		var now int64
		if now, err = usage(dir); now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
	return last, err
}

// drop measures how long it takes to drop the month, years later, and what
// comes back.
func (b *bench) drop() (err error) {
	dir := b.folder("ndjson")
	before, err := usage(dir)
	if err != nil {
		return err
	}
	st, err := local.Open(local.Options{Dir: dir})
	if err != nil {
		return err
	}
	clock := time.Now().AddDate(2, 0, 0)
	e, err := engine.Open(context.Background(), engine.Options{
		Store: st, Holder: "embedded", Drop: true, Now: func() time.Time { return clock },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	clock = clock.AddDate(0, 0, 8) // past the grace
	begin := time.Now()
	p, err := e.Rotator.Run(context.Background())
	if err != nil {
		return err
	}
	gone := time.Since(begin)
	after, err := settled(dir)
	if err != nil {
		return err
	}
	back := time.Since(begin) - 500*time.Millisecond
	b.out.line(fmt.Sprintf("drop of a month, %d tables: gone after", p.Counts()[rotator.Drop]), gone.Seconds(), "s")
	b.out.line("… disk given back after", back.Seconds(), "s")
	b.out.line("… disk given back", 100*(1-float64(after)/float64(before)), "%")
	return nil
}
