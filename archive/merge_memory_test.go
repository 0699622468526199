package archive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

const (
	largeTables, largeReadings, largeBytes = 5, 30, 60_000
)

// archiveLargeTexts archives tables with readings of one device, whose texts are large and compress well. It
// drops the tables, and returns the records of their archives, the latest table first.
func archiveLargeTexts(t *testing.T, groupRows int) (*archive.Archiver, []archive.Record) {
	t.Helper()
	ctx, s := t.Context(), mem.New(func() time.Time { return now })
	objects, err := folder.Open(t.TempDir(), folder.Shared)
	must(t, err)
	a := archive.New(archive.Options{
		Store: s, Items: s, Objects: objects, Prefix: "p", ClassOf: func(grid.Table) string { return "default" },
		Now: func() time.Time { return now }, ExactCounts: true, GroupRows: groupRows,
	})
	text := strings.Repeat("x", largeBytes)
	var records []archive.Record
	for i := range largeTables {
		r, ok := grid.DefaultPolicy().Locate(table.Month.Start().AddDate(0, 0, 8-7*i), table.Month)
		if !ok {
			t.Fatal("no table")
		}
		tb := grid.Table{Prefix: "varve", Range: r, Month: table.Month}
		must(t, s.Create(ctx, tb, store.Hot))
		b := store.Batch{Table: tb}
		for n := range largeReadings {
			rd := varve.Reading{
				Series: largeSeries, Time: tb.Window().From.Add(time.Duration(n) * time.Second),
				Arrived: table.Month.Start(), Fields: []varve.Field{{Name: "v", Value: varve.StringValue(fmt.Sprint(n) + text)}},
			}
			if v := rd.Normalize(); v.Outcome == varve.Rejected {
				t.Fatal(v)
			}
			b.Readings = append(b.Readings, rd)
		}
		must(t, s.Write(ctx, []store.Batch{b})[0].Err)
		must(t, s.Retire(ctx, tb, now.Add(-time.Hour)))
		infos, err := s.Tables(ctx, store.Filter{Any: true, Window: tb.Window(), Details: true})
		must(t, err)
		rec, err := a.Archive(ctx, &infos[0])
		must(t, err)
		must(t, s.Drop(ctx, tb))
		records = append(records, rec)
	}
	return a, records
}

var largeSeries = varve.Series{Tenant: "acme", Stream: "s", Device: "d"}

// TestMerge_BoundsDecodedBytes merges five archives of large readings that compress well. A merge has one row
// group of each table in memory, so it must take only as many tables as the limit permits.
func TestMerge_BoundsDecodedBytes(t *testing.T) {
	a, records := archiveLargeTexts(t, 0)
	var largest int64
	for i := range records {
		size, err := a.LargestGroup(t.Context(), &records[i])
		must(t, err)
		if largest = max(largest, size); records[i].Bytes > size/10 || size < largeReadings*largeBytes {
			t.Fatalf("%d bytes are decoded from %d, want a good compression of %d", size, records[i].Bytes, largeReadings*largeBytes)
		}
	}
	a.LimitMergedMemory(2*largest + largest/2)
	done, err := a.Merge(t.Context(), nil, true)
	if err != nil || len(done) != 2 || len(done[0].Tables) != 2 || len(done[1].Tables) != 2 {
		t.Errorf("%+v, %v; want two merged archives of two tables each", done, err)
	}
}
