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

// drop measures the time to drop all tables once all their readings have expired. It also measures the
// time until the store releases their disk space, and the share of disk space that it releases.
func (b *bench) drop() (err error) {
	dir := b.folder("ndjson")
	before, err := chunkBytes(dir)
	if err != nil {
		return err
	}
	st, err := local.Open(local.Options{Dir: dir})
	if err != nil {
		return err
	}
	clock := time.Now().AddDate(2, 0, 0)
	policy := engine.DefaultRotation()
	policy.Drop = true
	e, err := engine.Open(context.Background(), engine.Options{
		Store: st, Holder: "embedded", Rotation: policy, Now: func() time.Time { return clock },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	clock = clock.AddDate(0, 0, 8) // after the grace of the retired tables
	begin := time.Now()
	p, err := e.Rotator.Run(context.Background())
	if err != nil {
		return err
	}
	gone := time.Since(begin)
	after, err := chunkBytes(dir)
	for err == nil && after > before/20 && time.Since(begin) < givenBackWithin {
		time.Sleep(time.Millisecond)
		after, err = chunkBytes(dir)
	}
	if err != nil {
		return err
	}
	b.out.line(fmt.Sprintf("drop of a month, %d tables: gone after", p.Counts()[rotator.Drop]), gone.Seconds(), "s")
	b.out.line("… disk space released after", time.Since(begin).Seconds(), "s")
	b.out.line("… disk space of chunks released", 100*(1-float64(after)/float64(before)), "%")
	return nil
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
