package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/varvedb/varve/export"
)

// export measures an export of all readings in each format. The formats take turns, because the speed
// of a machine varies.
func (b *bench) export() (err error) {
	s, err := start(b.binary, b.folder("ndjson"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	rates, clients, servers, sizes := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}, map[string]float64{}
	for range b.rounds {
		for _, format := range export.Formats() {
			r, err := b.exportOnce(s, format)
			if err != nil {
				return err
			}
			n := float64(r.readings)
			rates[format] = append(rates[format], n/r.took.Seconds())
			clients[format] = append(clients[format], float64(r.client.Microseconds())/n)
			servers[format] = append(servers[format], float64(r.server.Microseconds())/n)
			sizes[format] = float64(r.bytes) / n
		}
	}
	for _, format := range export.Formats() {
		b.out.median("export as "+format, rates[format], "readings/s")
		b.out.median("… processor time of the export", clients[format], "µs/reading")
		b.out.median("… processor time of the server", servers[format], "µs/reading")
		b.out.line("… size of the files", sizes[format], "B/reading")
	}
	return nil
}

// exported is the result of an export: its size, its duration, and the processor times of the client and
// the server.
type exported struct {
	readings, bytes      int64
	took, client, server time.Duration
}

func (b *bench) exportOnce(s *server, format string) (r exported, err error) {
	dir := b.folder("export")
	if err := os.RemoveAll(dir); err != nil {
		return r, err
	}
	cmd := exec.Command(b.binary, "export", "bench", dir, "--format", format, "-o", "json", "--server", "http://"+s.addr)
	cmd.Stderr = os.Stderr
	before, begin := s.cpu(), time.Now()
	text, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("export as %s: %w", format, err)
	}
	r.took, r.server = time.Since(begin), s.cpu()-before
	r.client = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	var result struct{ Readings, Bytes int64 }
	if err := json.Unmarshal(text, &result); err != nil {
		return r, err
	}
	if r.readings, r.bytes = result.Readings, result.Bytes; r.readings < dayTotal+upTotal {
		return r, fmt.Errorf("export as %s: %d readings, want at least %d", format, r.readings, dayTotal+upTotal)
	}
	return r, nil
}
