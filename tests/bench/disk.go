package main

import (
	"context"
	"errors"
	"fmt"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store/local"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// disk measures the disk space of readings after the server has stopped.
func (b *bench) disk() error {
	dir := b.folder("ndjson")
	n, err := b.stored(dir)
	if err != nil {
		return err
	}
	all, err := usage(dir)
	if err != nil {
		return err
	}
	chunks, err := chunkBytes(dir)
	if err != nil {
		return err
	}
	b.out.line("disk, the whole folder of a stopped server", float64(all)/float64(n), "B/reading")
	b.out.line("… of that, chunks", float64(chunks)/float64(n), "B/reading")
	return nil
}

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

// drop measures the time to drop all tables once all their readings have expired. It also measures the
// time until the store releases their disk space, and the share of disk space that it releases.
//
// The readings have no roll-ups. Otherwise, roll-ups would be recounted before their tables are
// dropped, and the store would write the roll-ups to files.
func (b *bench) drop() (err error) {
	dir := b.folder("drop")
	if err := b.fillWithoutRollups(dir); err != nil {
		return err
	}
	st, err := local.Open(local.Options{Dir: dir})
	if err != nil {
		return err
	}
	clock := time.Now()
	policy := engine.DefaultRotation()
	policy.Drop = true
	e, err := engine.Open(context.Background(), engine.Options{
		Store: st, Holder: "embedded", Rotation: policy, Now: func() time.Time { return clock }, NoRollups: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	infos, err := e.Rotator.Tables(context.Background())
	if err != nil {
		return err
	}
	var readings int64 // bytes of all readings
	for i := range infos {
		readings += infos[i].Bytes
	}
	// The first run retires the tables, and creates the tables of the month. The second one only drops tables.
	clock = time.Date(clock.Year()+2, clock.Month()+1, 5, 0, 0, 0, 0, time.UTC)
	if _, err := e.Rotator.Run(context.Background()); err != nil {
		return err
	}
	before, err := chunkBytes(dir)
	if err != nil {
		return err
	}
	clock = clock.AddDate(0, 0, 8) // more than retention.grace, so that the retired tables are dropped
	begin := time.Now()
	p, err := e.Rotator.Run(context.Background())
	if err != nil {
		return err
	}
	gone := time.Since(begin)
	after, err := chunkBytes(dir)
	for err == nil && before-after < readings*9/10 && time.Since(begin) < givenBackWithin {
		time.Sleep(time.Millisecond)
		after, err = chunkBytes(dir)
	}
	if err != nil {
		return err
	}
	b.out.line(fmt.Sprintf("drop of a month, %d tables: gone after", p.Counts()[rotator.Drop]), gone.Seconds(), "s")
	b.out.line("… disk space released after", time.Since(begin).Seconds(), "s")
	b.out.line("… disk space of readings released", 100*float64(before-after)/float64(readings), "%")
	return nil
}

// fillWithoutRollups writes a day of all devices and the late uploads into a new folder, through a server.
func (b *bench) fillWithoutRollups(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	s, err := start(b.binary, dir, "--set", "rollups.enabled=false")
	if err != nil {
		return err
	}
	bodies := day(ndjson, "", b.end.Add(-24*time.Hour))
	for i := range uploads {
		bodies = append(bodies, backlog(ndjson, "", i, b.end)...)
	}
	_, err = send(s.addr, "application/x-ndjson", bodies, 4)
	return errors.Join(err, s.stop())
}

// givenBackWithin limits the wait for the release of disk space.
const givenBackWithin = 20 * time.Second

// chunkBytes returns the size of all files with chunks.
func chunkBytes(dir string) (sum int64, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the file was deleted meanwhile
		}
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}
