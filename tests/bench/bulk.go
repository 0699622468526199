package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
)

// bulk measures how fast a new server stores the readings of the functions day and backlog. The data
// folder of the last round remains for other parts.
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

// send posts bodies of readings over several connections and returns the elapsed time.
func send(addr, contentType string, bodies [][]byte, conns int) (time.Duration, error) {
	return sendTo(addr, path, contentType, bodies, conns, func(answer []byte) error {
		if !bytes.Contains(answer, []byte(`"duplicates":0,"rejected":0`)) {
			return fmt.Errorf("not all were stored: %.200s", answer)
		}
		return nil
	})
}

// sendTo posts bodies to a path over several connections, checks each answer, and returns the
// elapsed time.
func sendTo(addr, path, contentType string, bodies [][]byte, conns int, check func(answer []byte) error) (time.Duration, error) {
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
				answer, err := c.postTo(path, contentType, body)
				if err == nil {
					err = check(answer)
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
