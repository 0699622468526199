package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// cores measures writes by a server that is limited to one processor, two, four and so on, up to all
// processors. The client runs on the same machine and is not limited.
func (b *bench) cores() error {
	bodies := day(ndjson, "", b.end.Add(-24*time.Hour))
	first := 0.0
	for n := 1; ; n = min(2*n, runtime.NumCPU()) {
		var rates []float64
		for range b.rounds {
			rate, err := b.withCores(n, bodies)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
		b.out.median(fmt.Sprintf("a day of 1,000 devices, server on %d of %d processors", n, runtime.NumCPU()), rates, "readings/s")
		if n == 1 {
			first = rates[len(rates)/2]
		} else {
			b.out.line("… compared with one processor", rates[len(rates)/2]/first, "times")
		}
		if n == runtime.NumCPU() {
			return nil
		}
	}
}

// withCores returns the readings per second that a server on n processors stores.
func (b *bench) withCores(n int, bodies [][]byte) (rate float64, err error) {
	dir := b.folder("cores")
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	s, err := startProgram(dir, "/readyz", []string{fmt.Sprintf("GOMAXPROCS=%d", n)}, func(addr string) *exec.Cmd {
		// taskset limits all threads of the server, including threads that wait for the disk.
		return exec.Command("taskset", "-c", fmt.Sprintf("0-%d", n-1), b.binary, "serve", "--listen", addr, "--data", dir, "--log-level", "error")
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	took, err := send(s.addr, "application/x-ndjson", bodies, 4)
	return dayTotal / took.Seconds(), err
}
