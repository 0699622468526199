package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const growthSteps = 10 // number of rows of the printed table

// growthPart measures a store as it grows.
type growthPart struct{ *bench }

// runPart loads many days of 1,000 devices into one server, the oldest day first. It prints how
// the cost of writes and queries develops, and how long the server needs to stop and to start.
//
// It is not a part of a full run, because it takes minutes.
func (b growthPart) runPart() error {
	dir := b.folder("growth")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	s, err := start(b.binary, dir)
	if err != nil {
		return err
	}
	fmt.Printf("%11s %12s %10s %9s %10s %12s %12s %12s\n",
		"readings", "readings/s", "µs CPU/r", "RSS MiB", "disk B/r", "new day ms", "old day ms", "latest ms")
	for step := range growthSteps {
		if err := b.growthStep(s, step); err != nil {
			return errors.Join(err, s.stop())
		}
	}
	return b.restarts(s)
}

// growthStep loads the days of one step and prints a row.
func (b growthPart) growthStep(s *server, step int) error {
	each := max(b.days/growthSteps, 1)
	cpu := s.cpu()
	var took time.Duration
	for i := range each {
		bodies := day(ndjson, "", b.growthDay(step*each+i))
		t, err := send(s.addr, "application/x-ndjson", bodies, 4)
		if err != nil {
			return err
		}
		took += t
	}
	readings := each * dayTotal
	total := (step + 1) * readings
	cpu = s.cpu() - cpu
	rss, _, err := s.memory()
	if err != nil {
		return err
	}
	disk, err := usage(s.dir)
	if err != nil {
		return err
	}
	newest, _, err := timeReadings(s.addr, 200, b.wholeDay((step+1)*each-1), minutes)
	if err != nil {
		return err
	}
	oldest, _, err := timeReadings(s.addr, 200, b.wholeDay(0), minutes)
	if err != nil {
		return err
	}
	latest, _, err := timeReadings(s.addr, 1000, latestOf, 1)
	if err != nil {
		return err
	}
	fmt.Printf("%11s %12s %10.2f %9d %10.2f %12.2f %12.2f %12.3f\n",
		figure(float64(total)), figure(float64(readings)/took.Seconds()), float64(cpu.Microseconds())/float64(readings),
		rss, float64(disk)/float64(total), newest, oldest, latest)
	return nil
}

// growthDay returns the time at which day i of the load begins. The last day ends at b.end.
func (b growthPart) growthDay(i int) time.Time {
	return b.end.Add(time.Duration(i-b.days) * 24 * time.Hour)
}

// wholeDay returns a function that returns the request path for the readings of a device on day i
// of the load. The argument of the function selects the device.
func (b growthPart) wholeDay(i int) func(int) string {
	from, to := b.growthDay(i).UnixMilli(), b.growthDay(i+1).UnixMilli()
	return func(i int) string {
		return fmt.Sprintf("/v1/streams/bench/devices/dev-%04d/readings?from=%d&to=%d", i*37%devices, from, to)
	}
}

// restarts measures a clean stop, the start after it, and the start after a kill with a day of readings
// in the memtable.
func (b growthPart) restarts(s *server) error {
	begin := time.Now()
	if err := s.stop(); err != nil {
		return err
	}
	b.out.line("clean stop", time.Since(begin).Seconds(), "s")
	begin = time.Now()
	s, err := start(b.binary, s.dir)
	if err != nil {
		return err
	}
	b.out.line("start after a clean stop", time.Since(begin).Seconds(), "s")
	// One day of readings fits into a memtable. So when the server is killed, the readings are only
	// in the journal.
	if _, err := send(s.addr, "application/x-ndjson", day(ndjson, "", b.growthDay(-1)), 4); err != nil {
		return errors.Join(err, s.stop())
	}
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	var killed interface{ ExitCode() int }
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &killed) {
		return err
	}
	begin = time.Now()
	if s, err = start(b.binary, s.dir); err != nil {
		return err
	}
	b.out.line("start after SIGKILL", time.Since(begin).Seconds(), "s")
	return s.stop()
}
