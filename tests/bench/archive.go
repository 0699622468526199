package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
)

// archivePart measures how fast Varve archives all tables in a folder, verifies and merges the archives, and
// reads them.
type archivePart struct{ *bench }

// archiveRun is the archive of one round.
type archiveRun struct {
	*archive.Archiver
	records  []archive.Record
	readings int64
	bytes    int64
	took     time.Duration
}

func (b archivePart) runPart() (err error) {
	st, err := local.Open(local.Options{Dir: b.folder("ndjson")})
	if err != nil {
		return err
	}
	e, err := engine.Open(context.Background(), engine.Options{Store: st, Holder: "bench"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	infos, err := e.Rotator.Tables(context.Background())
	if err != nil {
		return err
	}
	var rates, sizes, shares, merges, months, requests []float64
	for range b.rounds {
		run, err := b.write(st, infos)
		if err != nil {
			return err
		}
		verified, err := run.verifyAll()
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := run.merge(); err != nil {
			return err
		}
		merges = append(merges, float64(run.readings)/time.Since(begin).Seconds())
		ms, asked, err := run.readMonths()
		if err != nil {
			return err
		}
		rates = append(rates, float64(run.readings)/run.took.Seconds())
		sizes = append(sizes, float64(run.bytes)/float64(run.readings))
		shares = append(shares, 100*verified.Seconds()/run.took.Seconds())
		months, requests = append(months, ms), append(requests, asked)
	}
	b.out.median(fmt.Sprintf("archive of %d tables, written and verified", len(infos)), rates, "readings/s")
	b.out.median("… size of all files", sizes, "B/reading")
	b.out.median("… verification, as a share of that time", shares, "%")
	b.out.median("… merged and verified", merges, "readings/s")
	b.out.median("a cold month of a device (43,200 readings) from the archive", months, "ms")
	b.out.median("… range requests", requests, "requests")
	return nil
}

// write archives all tables of the store into an empty folder.
func (b archivePart) write(st *local.Store, infos []store.Info) (run archiveRun, err error) {
	if err := os.RemoveAll(b.folder("archive")); err != nil {
		return run, err
	}
	objects, err := folder.Open(b.folder("archive"), folder.Shared)
	if err != nil {
		return run, err
	}
	run.Archiver = archive.New(archive.Options{
		Store: st, Items: mem.New(time.Now), Objects: objects, Prefix: "bench", ExactCounts: true, Now: time.Now,
		ClassOf: func(grid.Table) string { return "default" },
	})
	begin := time.Now()
	for i := range infos {
		r, err := run.Archive(context.Background(), &infos[i])
		if err != nil {
			return run, err
		}
		run.records = append(run.records, r)
		run.readings += r.Readings
		run.bytes += r.Bytes
	}
	run.took = time.Since(begin)
	return run, nil
}

// verifyAll verifies all archives once more, and returns the time that this takes.
func (run *archiveRun) verifyAll() (time.Duration, error) {
	begin := time.Now()
	for i := range run.records {
		if err := run.Verify(context.Background(), &run.records[i]); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// merge merges all archives, and then deletes the files of the single archives. It also loads the changed
// records.
func (run *archiveRun) merge() (err error) {
	for range 2 {
		if _, err := run.Merge(context.Background(), nil, true); err != nil {
			return err
		}
	}
	run.records, err = run.Catalog().List(context.Background())
	return err
}

// readMonths reads the month of each device that uploaded one, each with a new reader that has no cached
// data. It returns the mean time in milliseconds, and the mean number of requests.
func (run *archiveRun) readMonths() (took, requests float64, err error) {
	begin := time.Now()
	for i := range uploads {
		reader := archive.NewReader(run.Archiver)
		of := varve.Series{Tenant: varve.DefaultTenant, Stream: "bench", Device: fmt.Sprintf("late-%02d", i)}
		n, reads := 0, reader.Share()
		for j := range run.records {
			part, err := readSeries(reads, &run.records[j], of)
			if err != nil {
				return 0, 0, err
			}
			n += part
		}
		if n != upEach {
			return 0, 0, fmt.Errorf("%s: %d readings, want %d", of, n, upEach)
		}
		requests += float64(reader.Stats().Requests)
	}
	return ms(time.Since(begin)) / uploads, requests / uploads, nil
}

func readSeries(reads *archive.SharedReads, r *archive.Record, of varve.Series) (n int, err error) {
	next := reads.Open(r, store.Range{Table: r.Table, Series: of, Window: varve.AllTime()}).Next
	for {
		page, err := next(context.Background(), 2048)
		if err != nil {
			return n, err
		}
		for i := range page.Parts {
			n += page.Parts[i].Len()
		}
		if !page.More {
			return n, nil
		}
	}
}
