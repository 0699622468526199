package erasures

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// interrupted calls a function once, before the first file of a merged archive is written.
type interrupted struct {
	objectstore.Store
	do *func()
}

func (i interrupted) PutNew(ctx context.Context, key string, body []byte) error {
	if do := *i.do; do != nil && strings.Contains(key, "merged-") {
		*i.do = nil
		do()
	}
	return i.Store.PutNew(ctx, key, body)
}

// archiveTable creates, archives and drops a table with one reading of each of two devices.
func archiveTable(t *testing.T, s *mem.Store, a *archive.Archiver, table grid.Table, now time.Time) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	check(s.Create(t.Context(), table, store.Hot))
	b := store.Batch{Table: table}
	for _, device := range []string{"gone", "here"} {
		r := varve.Reading{
			Series: varve.Series{Tenant: "acme", Stream: "weather", Device: device}, Time: time.Unix(table.Start+4000, 0),
			Arrived: table.Month.Start().Add(time.Hour), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
		}
		r.Normalize()
		b.Readings = append(b.Readings, r)
	}
	check(s.Write(t.Context(), []store.Batch{b})[0].Err)
	check(s.Retire(t.Context(), table, now.Add(-time.Hour)))
	infos, err := s.Tables(t.Context(), store.Filter{Prefixes: []string{table.Prefix}, Window: varve.AllTime(), Details: true, Fresh: true})
	check(err)
	i := slices.IndexFunc(infos, func(in store.Info) bool { return in.Table == table })
	_, err = a.Archive(t.Context(), &infos[i])
	check(err)
	check(s.Drop(t.Context(), table))
}

// TestFindArchives_FindsLeftoversOfRecordedTables erases readings of a table while its archive is merged. The
// merged archive then has the erased readings, although the record of the table does not point to it. So
// findArchives must find the table.
func TestFindArchives_FindsLeftoversOfRecordedTables(t *testing.T) {
	now := time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s := mem.New(clock)
	objects, err := folder.Open(t.TempDir(), folder.Shared)
	if err != nil {
		t.Fatal(err)
	}
	opts := archive.Options{
		Store: s, Items: s, Objects: objects, Prefix: "p", ClassOf: func(grid.Table) string { return "default" }, Now: clock, ExactCounts: true,
	}
	a, month := archive.New(opts), grid.MonthOf(now.AddDate(0, -2, 0))
	var tables []grid.Table
	for i := range 2 {
		r, _ := grid.DefaultPolicy().Locate(month.Start().AddDate(0, 0, 1+7*i), month)
		tables = append(tables, grid.Table{Prefix: "varve", Range: r, Month: month})
		archiveTable(t, s, a, tables[i], now)
	}
	var erasing error
	erase := func() {
		_, erasing = a.Erase(t.Context(), tables[1:], func(r *varve.Reading) bool { return r.Device == "gone" }, nil)
	}
	opts.Objects = interrupted{objects, &erase}
	if _, err := archive.New(opts).Merge(t.Context(), nil, true); err == nil || erasing == nil {
		t.Fatalf("merge: %v, erasure: %v, want failures", err, erasing)
	}
	e := &Eraser{opts: Options{Items: s, Archiver: a}}
	found, err := e.findArchives(t.Context(), &scope{Target: Target{Tenant: "acme", Device: "gone", Window: tables[1].Window()}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found, func(f foundArchive) bool { return f.table == tables[1] && f.earlier }) {
		t.Errorf("found %+v, want %s with other archives", found, tables[1])
	}
}
