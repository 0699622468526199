package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/local"
	"os"
	"time"
)

// yearOf names a device with one reading per hour for a year.
const yearOf, yearDays = "year", 365

type rollupsPart struct{ *bench }

// runPart measures the cost of roll-ups: for writes, for the recount, and for reads of dirty and
// of recounted hours.
func (b rollupsPart) runPart() error {
	bodies := day(ndjson, "", b.end.Add(-24*time.Hour))
	var rate, cpu [2][]float64
	for range b.rounds {
		for i, on := range []string{"true", "false"} {
			r, c, err := b.writeDay(bodies, "rollups.enabled="+on)
			if err != nil {
				return err
			}
			rate[i], cpu[i] = append(rate[i], r), append(cpu[i], c)
		}
	}
	for i, what := range []string{"with roll-ups", "without"} {
		b.out.median("a day of 1,000 devices, "+what, rate[i], "readings/s")
		b.out.median("server's processor time, "+what, cpu[i], "µs/reading")
	}
	if _, _, err := b.writeDay(bodies, "rollups.enabled=true"); err != nil {
		return err
	}
	if err := b.readRollups("to be counted"); err != nil {
		return err
	}
	if err := b.count(); err != nil {
		return err
	}
	return b.readRollups("at rest")
}

// writeDay writes a day of readings of all devices, and a year of readings of one device, into a new folder.
func (b rollupsPart) writeDay(bodies [][]byte, setting string) (rate, cpu float64, err error) {
	if err := os.RemoveAll(b.folder("rollups")); err != nil {
		return 0, 0, err
	}
	s, err := start(b.binary, b.folder("rollups"), "--set", setting)
	if err != nil {
		return 0, 0, err
	}
	before := s.cpu()
	took, err := send(s.addr, "application/x-ndjson", bodies, 4)
	if err != nil {
		return 0, 0, err
	}
	used := s.cpu() - before
	var year bytes.Buffer
	device := newSensor(1, yearOf)
	for i := range yearDays * 24 {
		device.advance()
		year.Write(ndjson(nil, device, b.end.Add(-time.Duration(i+1)*time.Hour).UnixMilli()))
	}
	if _, err = send(s.addr, "application/x-ndjson", [][]byte{year.Bytes()}, 1); err != nil {
		return 0, 0, err
	}
	return dayTotal / took.Seconds(), float64(used.Microseconds()) / dayTotal, s.stop()
}

// count recounts all roll-ups with a clock that is three hours ahead.
func (b rollupsPart) count() error {
	ahead := func() time.Time { return time.Now().Add(3 * time.Hour) }
	st, err := local.Open(local.Options{Dir: b.folder("rollups"), Now: ahead})
	if err != nil {
		return err
	}
	e, err := engine.Open(context.Background(), engine.Options{Store: st, Now: ahead, Holder: "bench"})
	if err != nil {
		return err
	}
	begin, marks := time.Now(), 0
	for {
		n, err := e.Aggregator.Run(context.Background())
		if err != nil {
			return errors.Join(err, e.Close())
		}
		if marks += n; n == 0 {
			break
		}
	}
	b.out.line(fmt.Sprintf("counting them afterwards (%d marks)", marks), float64(time.Since(begin).Microseconds())/(dayTotal+yearDays*24), "µs/reading")
	return e.Close()
}

func (b rollupsPart) readRollups(how string) error {
	s, err := start(b.binary, b.folder("rollups"))
	if err != nil {
		return err
	}
	hours := func(i int) string {
		return fmt.Sprintf("/v1/streams/bench/devices/dev-%04d/rollups?period=hourly&fields=temperature&from=%d&to=%d",
			i*37%devices, b.end.Add(-24*time.Hour).UnixMilli(), b.end.UnixMilli())
	}
	days := func(int) string {
		return fmt.Sprintf("/v1/streams/bench/devices/%s/rollups?period=daily&fields=temperature&from=%d&to=%d",
			yearOf, b.end.AddDate(0, 0, -yearDays).UnixMilli(), b.end.UnixMilli())
	}
	var hours50, days50 []float64
	for range b.rounds {
		p50, _, err := askFor(s.addr, 500, hours, `"start"`, 24)
		if err != nil {
			return err
		}
		hours50 = append(hours50, p50)
		if p50, _, err = askFor(s.addr, 50, days, `"start"`, yearDays); err != nil {
			return err
		}
		days50 = append(days50, p50)
	}
	b.out.median("hourly means of a day of a device, "+how+": p50", hours50, "ms")
	b.out.median("a year of daily roll-ups, "+how+": p50", days50, "ms")
	return s.stop()
}
