package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// backupPart measures backups of a running server, their verification, and restores. The readings before
// the third and the fourth backup are the next minutes of the 1,000 devices.
type backupPart struct {
	*bench
	figures map[string][]float64 // the figures of all rounds, by their descriptions
	units   map[string]string    // by the same descriptions
	order   []string             // the descriptions, in the order of the first round
}

// backedUp is the result of a backup.
type backedUp struct {
	Bytes   int64 `json:"bytes"`
	Written int64 `json:"written_bytes"`
	Objects int   `json:"written_files"`
}

// minutesAfter1 and minutesAfter2 are the minutes of readings before the third and the fourth backup: 1 % and
// 10 % of the readings of the store.
const minutesAfter1, minutesAfter2 = 23, 230

func (b *backupPart) runPart() error {
	b.figures, b.units = map[string][]float64{}, map[string]string{}
	for range b.rounds {
		if err := b.round(); err != nil {
			return err
		}
	}
	for _, what := range b.order {
		b.out.median(what, b.figures[what], b.units[what])
	}
	return nil
}

func (b *backupPart) add(what string, value float64, unit string) {
	if b.units[what] == "" {
		b.order = append(b.order, what)
	}
	b.figures[what], b.units[what] = append(b.figures[what], value), unit
}

// round makes all backups of a copy of the data, in an empty place. Then it verifies all backups, and
// restores the last one twice: once in full, and once as of an earlier time.
func (b *backupPart) round() error {
	for _, name := range []string{"backup-data", "backup-place", "backup-restored", "backup-earlier"} {
		if err := os.RemoveAll(b.folder(name)); err != nil {
			return err
		}
	}
	if err := os.CopyFS(b.folder("backup-data"), os.DirFS(b.folder("ndjson"))); err != nil {
		return err
	}
	s, err := start(b.binary, b.folder("backup-data"))
	if err != nil {
		return err
	}
	asOf, err := b.makeAll(s)
	if err := errors.Join(err, s.stop()); err != nil {
		return err
	}
	place := b.folder("backup-place")
	took, _, err := b.call("backup", "verify", place)
	if err != nil {
		return err
	}
	b.add("verification of all backups", took.Seconds(), "s")
	const restored = dayTotal + upTotal + (minutesAfter1+minutesAfter2)*devices
	if took, _, err = b.call("restore", place, "--data", b.folder("backup-restored")); err != nil {
		return err
	}
	b.add("restore of the last backup", took.Seconds(), "s")
	b.add("… rate", restored/took.Seconds(), "readings/s")
	took, text, err := b.call("restore", place, "--data", b.folder("backup-earlier"), "--as-of", asOf.UTC().Format(time.RFC3339Nano))
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("Removed %d,000 readings ", minutesAfter2); !bytes.Contains(text, []byte(want)) {
		return fmt.Errorf("restore as of a time: %s, want %q", text, want)
	}
	b.add("restore as of a time before the last 10 %", took.Seconds(), "s")
	return nil
}

// makeAll makes the backups. It returns a time after the third backup, and before the arrival of the
// readings that only the last backup has.
func (b *backupPart) makeAll(s *server) (asOf time.Time, err error) {
	first, err := b.backUp(s, "first backup")
	if err != nil {
		return asOf, err
	}
	perReading := float64(first.Bytes) / (dayTotal + upTotal)
	b.add("… size of the backup", perReading, "B/reading")
	if _, err := b.backUp(s, "backup without a change"); err != nil {
		return asOf, err
	}
	from := b.end
	for _, step := range []struct {
		what    string
		minutes int
	}{{"backup after 1 % more", minutesAfter1}, {"backup after 10 % more", minutesAfter2}} {
		asOf = time.Now()
		bodies := fleetFor(step.minutes, ndjson, "", from)
		if _, err := send(s.addr, "application/x-ndjson", bodies, 4); err != nil {
			return asOf, err
		}
		from = from.Add(time.Duration(step.minutes) * time.Minute)
		made, err := b.backUp(s, step.what)
		if err != nil {
			return asOf, err
		}
		changed := perReading * float64(step.minutes*devices)
		b.add("… "+step.what+": new bytes by the size of the readings", float64(made.Written)/changed, "times")
	}
	return asOf, nil
}

// backUp makes a backup once the files of the database have not changed for a second. So the figures include the
// merges of files that the new readings cause.
func (b *backupPart) backUp(s *server, what string) (made backedUp, err error) {
	if err := settleFiles(filepath.Join(s.dir, "pebble")); err != nil {
		return made, err
	}
	took, text, err := b.call("backup", b.folder("backup-place"), "-o", "json", "--server", "http://"+s.addr)
	if err != nil {
		return made, err
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return made, err
	}
	b.add(what, took.Seconds(), "s")
	b.add("… "+what+": new bytes", float64(made.Written)/(1<<20), "MiB")
	b.add("… "+what+": new objects", float64(made.Objects), "objects")
	return made, nil
}

// settleFiles waits until the names of the files in a folder have not changed for a second.
func settleFiles(dir string) error {
	var before []string
	for same := 0; same < 10; same++ {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, before) {
			before, same = names, 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// call runs a command of the measured binary, and returns its duration and its output.
func (b *backupPart) call(args ...string) (time.Duration, []byte, error) {
	cmd := exec.Command(b.binary, args...)
	cmd.Stderr = os.Stderr
	begin := time.Now()
	text, err := cmd.Output()
	if err != nil {
		return 0, nil, fmt.Errorf("varve %s %s: %w", args[0], args[1], err)
	}
	return time.Since(begin), text, nil
}
