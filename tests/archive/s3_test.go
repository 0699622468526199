package archive_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/objectstore/objectstest"
	"github.com/varvedb/varve/objectstore/s3"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/tests/s3test"
)

func TestS3_ConformsToContract(t *testing.T) {
	endpoint, _ := s3test.Start(t)
	b, err := s3.Open(t.Context(), s3.Options{Bucket: s3test.Bucket, Prefix: "some", Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	objectstest.Run(t, b)
}

func TestS3_RefusesMissingBucket(t *testing.T) {
	endpoint, _ := s3test.Start(t)
	if _, err := s3.Open(t.Context(), s3.Options{Bucket: "missing", Endpoint: endpoint}); err == nil {
		t.Error("a missing bucket was opened")
	}
}

// month is the arrival month of the archived tables.
var month = grid.MonthOf(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))

func clock() time.Time { return time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) }

// TestArchive_RecountedByDuckDB archives tables to a bucket and to a folder, and merges the
// archives. DuckDB reads the files with plain SQL before and after the merge. It must find the
// counts and the exact sums of the archived readings.
func TestArchive_RecountedByDuckDB(t *testing.T) {
	endpoint, inBucket := s3test.Start(t)
	b, err := s3.Open(t.Context(), s3.Options{Bucket: s3test.Bucket, Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	inFolder := filepath.Join(t.TempDir(), "archive")
	f, err := folder.Open(inFolder, folder.Shared)
	if err != nil {
		t.Fatal(err)
	}
	for root, objects := range map[string]objectstore.Store{inBucket: b, inFolder: f} {
		a, want := archiveTables(t, objects)
		compareCounts(t, recount(t, root), want, objects.Location())
		for range 2 { // the second call deletes the files of the single archives
			if _, err := a.Merge(t.Context(), nil, true); err != nil {
				t.Fatal(err)
			}
		}
		merged, err := a.Catalog().ListMerged(t.Context())
		if err != nil || len(merged) != 1 || len(merged[0].Tables) != len(want["partitions"]) {
			t.Fatalf("merged archives: %+v, %v", merged, err)
		}
		want["partitions"] = []map[string]any{{"class": "default", "month": "2026-10", "table": merged[0].Name}}
		compareCounts(t, recount(t, root), want, objects.Location()+", merged")
	}
}

func compareCounts(t *testing.T, got, want counts, where string) {
	t.Helper()
	if text, wanted := fmt.Sprint(got), fmt.Sprint(want); text != wanted {
		t.Errorf("%s:\n got %s\nwant %s", where, text, wanted)
	}
}

// counts has the rows that testdata/recount.mjs counts, by the name of the query.
type counts map[string][]map[string]any

func recount(t *testing.T, root string) (c counts) {
	t.Helper()
	out, err := exec.Command("node", "testdata/recount.mjs", cache, root).Output()
	if err != nil {
		text := ""
		if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns this type
			text = string(exit.Stderr)
		}
		t.Fatalf("%v\n%s", err, text)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// archiveTables archives two tables of readings. It returns the archiver and the expected recount.
func archiveTables(t *testing.T, objects objectstore.Store) (*archive.Archiver, counts) {
	t.Helper()
	s := mem.New(clock)
	t.Cleanup(func() { s.Close() })
	a := archive.New(archive.Options{
		Store: s, Items: s, Objects: objects, Prefix: "p", ClassOf: func(grid.Table) string { return "default" }, Now: clock, ExactCounts: true,
		GroupRows: 500, FileBytes: 8000,
	})
	begin := time.Date(2026, 10, 8, 12, 40, 0, 0, time.UTC) // each device has 1,000 readings in this week, and 1,000 in the next one
	tables := map[grid.Table][]varve.Reading{}
	temperature := [2]decimal.Sum{}
	const each = 2000
	for d := range 2 {
		for i := range each {
			r := readingOf(d, begin.Add(time.Duration(i)*5*time.Minute), i)
			temperature[d].Add(r.Field("temperature").Number())
			rg, _ := grid.DefaultPolicy().Locate(r.Time, month)
			tb := grid.Table{Prefix: "varve", Range: rg, Month: month}
			tables[tb] = append(tables[tb], r)
		}
	}
	partitions := []map[string]any{}
	for tb, list := range tables {
		if err := s.Create(t.Context(), tb, store.Cold); err != nil {
			t.Fatal(err)
		}
		if res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: list}}); res[0].Err != nil {
			t.Fatal(res[0].Err)
		}
		r, err := a.Archive(t.Context(), &store.Info{Table: tb, Owned: true, Status: store.Active, Readings: int64(len(list))})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Verify(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
		if err := a.Check(t.Context(), &r, &store.Info{Table: tb, Readings: int64(len(list))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tb := range sorted(tables) {
		partitions = append(partitions, map[string]any{"class": "default", "month": "2026-10", "table": tb.Name()})
	}
	days := 2 * 8
	device := func(d int) map[string]any {
		return map[string]any{"device": fmt.Sprint("d", d), "rows": fmt.Sprint(each), "temperature": temperature[d].String(),
			"exact": "12345678901234567890.123456789", "mixed": fmt.Sprint(7 * each / 100), "texts": fmt.Sprint(each / 10)}
	}
	return a, counts{
		"total": {{"rows": fmt.Sprint(2 * each), "distinct_rows": fmt.Sprint(2 * each), "series": "2",
			"first": "2026-10-08 12:40:00+00", "last_arrival": "2026-10-15 11:15:01.5+00"}},
		"sums":       {device(0), device(1)},
		"partitions": partitions,
		"days":       {{"readings": fmt.Sprint(2 * each), "days": fmt.Sprint(days)}},
		"ids":        {{"device": "d0", "own": "0"}, {"device": "d1", "own": "20"}},
		"window":     {{"rows": "288"}},
	}
}

func sorted(tables map[grid.Table][]varve.Reading) (names []grid.Table) {
	for tb := range tables {
		names = append(names, tb)
	}
	for i := range names {
		for j := i; j > 0 && names[j].Compare(names[j-1]) < 0; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	return names
}

// readingOf returns reading i of device d. Each reading has a temperature. A few also have a number of
// 29 digits, or a field that is sometimes a number and sometimes a string.
func readingOf(d int, at time.Time, i int) varve.Reading {
	r := varve.Reading{
		Series: varve.Series{Tenant: "acme", Stream: "weather", Device: fmt.Sprint("d", d)},
		Time:   at, Arrived: at.Add(1500 * time.Millisecond),
		Fields: []varve.Field{{Name: "temperature", Value: varve.NumberValue(decimal.FromScaled(int64(2150+i%97+1/(i+1)), -2))}},
	}
	if i%100 == 0 {
		n, err := decimal.Parse("12345678901234567890.123456789")
		if err != nil {
			panic(err)
		}
		r.Fields = append(r.Fields, varve.Field{Name: "exact", Value: varve.NumberValue(n)}, varve.Field{Name: "mixed", Value: varve.IntValue(7)})
		if d == 1 {
			r.ID, _ = varve.ParseID(fmt.Sprint("own-", i))
		}
	}
	if i%10 == 5 {
		r.Fields = append(r.Fields, varve.Field{Name: "mixed", Value: varve.StringValue("0")})
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		panic(v.String())
	}
	return r
}
