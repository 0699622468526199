package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/objectstore/s3"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
	"github.com/varvedb/varve/tests/s3test"
)

type varveReading = varve.Reading

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

// table is a table for readings that happened and arrived in the month before now.
var table = func() grid.Table {
	month := grid.MonthOf(now) - 1
	r, ok := grid.DefaultPolicy().Locate(month.Start().Add(8*24*time.Hour), month)
	if !ok {
		panic("no table")
	}
	return grid.Table{Prefix: "varve", Range: r, Month: month}
}()

// TestArchive_NeverPermitsDropWithoutCopy archives tables of an in-memory store with faults in between.
// Whenever the archive permits the drop of the table, its files must have exactly the readings of the table.
func TestArchive_NeverPermitsDropWithoutCopy(t *testing.T) {
	checkFaults(t, inFolder(t.TempDir()), func() store.Store { return mem.New(clock) })
}

// TestArchive_NeverPermitsDropWithoutCopyEmbedded repeats the test above with the embedded store.
func TestArchive_NeverPermitsDropWithoutCopyEmbedded(t *testing.T) {
	s, err := local.Open(local.Options{Dir: t.TempDir(), MinFree: -1, Now: clock})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	checkFaults(t, inFolder(t.TempDir()), func() store.Store { return s })
}

// TestArchive_NeverPermitsDropWithoutCopyDynamo repeats the test above with DynamoDB.
func TestArchive_NeverPermitsDropWithoutCopyDynamo(t *testing.T) {
	server := httptest.NewServer(dynamosim.New(dynamosim.Options{}))
	t.Cleanup(server.Close)
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: dynamotest.Client(server.URL), Registry: "archive", Now: clock})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	checkFaults(t, inFolder(t.TempDir()), func() store.Store { return s })
}

// TestArchive_NeverPermitsDropWithoutCopyS3 repeats the test above with fewer sequences, and with archives
// in S3.
func TestArchive_NeverPermitsDropWithoutCopyS3(t *testing.T) {
	endpoint, _ := s3test.Start(t)
	randomtest.LimitChecks(t, 10)
	n := 0
	checkFaults(t, func(t *rapid.T) (objectstore.Store, func()) {
		n++ // each sequence uses a prefix of its own
		objects, err := s3.Open(context.Background(), s3.Options{Bucket: s3test.Bucket, Prefix: fmt.Sprint("run", n), Endpoint: endpoint})
		must(t, err)
		return objects, func() {}
	}, func() store.Store { return mem.New(clock) })
}

// inFolder returns a function that opens a new folder of objects, and returns it with a function that
// removes it.
func inFolder(dir string) func(*rapid.T) (objectstore.Store, func()) {
	return func(t *rapid.T) (objectstore.Store, func()) {
		root, err := os.MkdirTemp(dir, "objects")
		must(t, err)
		objects, err := folder.Open(root, folder.Shared)
		must(t, err)
		return objects, func() { must(t, os.RemoveAll(root)) }
	}
}

// checkFaults archives a new table in each random sequence.
func checkFaults(t *testing.T, openObjects func(*rapid.T) (objectstore.Store, func()), openStore func() store.Store) {
	t.Helper()
	before, n := injected.Load(), 0
	checkWithin(t, func(t *rapid.T) {
		n++ // each sequence uses a table of its own, because the sequences may share a store
		objects, remove := openObjects(t)
		defer remove()
		checkTable(t, openStore(), objects, grid.Table{Prefix: fmt.Sprint("t", n), Range: table.Range, Month: table.Month})
	})
	t.Logf("%d faults", injected.Load()-before)
}

func checkTable(t *rapid.T, s store.Store, objects objectstore.Store, tb grid.Table) {
	ctx := context.Background()
	want := fill(t, s, tb)
	must(t, s.Retire(ctx, tb, now.Add(-time.Hour)))
	if rapid.Bool().Draw(t, "foreign") {
		must(t, objects.PutNew(ctx, archive.Dir("p", "default", tb)+rapid.SampledFrom([]string{"manifest.json", "part-0123456789abcdef-00000.parquet", "readme"}).Draw(t, "name"), []byte("foreign")))
	}
	allowed := false
	t.Repeat(map[string]func(*rapid.T){
		"archive": func(t *rapid.T) {
			p := genProcess(t)
			a := archiver(s, faultyItems{s, p}, faultyObjects{objects, p}, faultySource{s, p})
			_, err := a.Archive(ctx, info(t, s, tb))
			if p.at < 0 && err != nil {
				t.Fatalf("without a fault: %v", err)
			}
		},
		"damage": func(t *rapid.T) { damage(t, objects) },
		"write": func(t *rapid.T) {
			// Such a late write is an error, but must not be lost where counts show it.
			if countsExactly(s) && rapid.IntRange(0, 5).Draw(t, "late") == 0 {
				want = append(want, write(t, s, tb, 1)...)
			}
		},
		"": func(t *rapid.T) { allowed = checkGate(t, s, objects, tb, want) },
	})
	a := archiver(s, s, objects, s)
	if _, err := a.Archive(ctx, info(t, s, tb)); err != nil {
		t.Fatalf("at the end: %v", err)
	}
	if allowed = checkGate(t, s, objects, tb, want); !allowed {
		t.Fatal("at the end, the table cannot be dropped")
	}
	checkLeftovers(t, objects, a, tb)
	must(t, s.Drop(ctx, tb))
}

func archiver(s store.Store, items store.Items, o objectstore.Store, from archive.Source) *archive.Archiver {
	return archive.New(archive.Options{
		Store: from, Items: items, Objects: o, Prefix: "p", ClassOf: func(grid.Table) string { return "default" }, Now: clock, ExactCounts: countsExactly(s),
		GroupRows: 7, FileBytes: 1,
	})
}

// countsExactly reports whether the catalog of a store counts readings exactly. DynamoDB counts rows, about
// every six hours.
func countsExactly(s store.Store) bool {
	_, isDynamo := s.(*dynamo.Store)
	return !isDynamo
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func info(t *rapid.T, s store.Store, tb grid.Table) *store.Info {
	infos, err := s.Tables(context.Background(), store.Filter{Prefixes: []string{tb.Prefix}, Window: varve.AllTime(), Details: true, Fresh: true})
	must(t, err)
	i := slices.IndexFunc(infos, func(in store.Info) bool { return in.Table == tb })
	if i < 0 {
		t.Fatal("the table is missing")
	}
	return &infos[i]
}

// fill writes random readings to a new table.
func fill(t *rapid.T, s store.Store, tb grid.Table) []varve.Reading {
	must(t, s.Create(context.Background(), tb, store.Hot))
	return write(t, s, tb, rapid.IntRange(0, 40).Draw(t, "readings"))
}

func write(t *rapid.T, s store.Store, tb grid.Table, n int) (stored []varve.Reading) {
	b := store.Batch{Table: tb}
	for range n {
		r := varve.Reading{
			Series:  varve.Series{Tenant: "acme", Stream: rapid.SampledFrom([]string{"s", "t"}).Draw(t, "stream"), Device: rapid.SampledFrom([]string{"a", "b", "c/d"}).Draw(t, "device")},
			Time:    time.Unix(tb.Start+rapid.Int64Range(0, 40).Draw(t, "at")*4000, 0),
			Arrived: tb.Month.Start().Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "arrived")) * time.Hour),
			Fields:  []varve.Field{{Name: "v", Value: varve.IntValue(rapid.Int64Range(0, 1000).Draw(t, "v"))}},
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		b.Readings = append(b.Readings, r)
	}
	res := s.Write(context.Background(), []store.Batch{b})
	must(t, res[0].Err)
	for i, v := range res[0].Verdicts {
		if v.Outcome == varve.Stored {
			stored = append(stored, b.Readings[i])
		}
	}
	return stored
}

// damage changes a random object, as a disk, a program or a person may do.
func damage(t *rapid.T, o objectstore.Store) {
	ctx := context.Background()
	keys := sortedKeys(t, o)
	if len(keys) == 0 {
		return
	}
	injected.Add(1)
	key := rapid.SampledFrom(keys).Draw(t, "object")
	body, err := o.Get(ctx, key, 0, -1)
	must(t, err)
	must(t, o.Delete(ctx, key))
	switch rapid.IntRange(0, 3).Draw(t, "damage") {
	case 0:
		return
	case 1:
		body = body[:len(body)/2]
	case 2:
		if len(body) > 0 {
			body[rapid.IntRange(0, len(body)-1).Draw(t, "byte")] ^= 1
		}
	default:
		body = []byte("another object")
	}
	must(t, o.PutNew(ctx, key, body))
}

// checkGate reports whether the archive permits the drop of the table. If it does, the files must have
// all readings.
func checkGate(t *rapid.T, s store.Store, o objectstore.Store, tb grid.Table, want []varve.Reading) bool {
	a := archiver(s, s, o, s)
	r, found, err := a.Catalog().Get(context.Background(), tb)
	must(t, err)
	if !found || a.Check(context.Background(), &r, info(t, s, tb)) != nil {
		return false
	}
	got := stored(t, o, r.ManifestKey())
	wanted := texts(want)
	if !slices.Equal(got, wanted) {
		t.Fatalf("the drop is permitted, and the archive has %d readings:\n%s\nwant %d:\n%s", len(got), strings.Join(got, "\n"), len(wanted), strings.Join(wanted, "\n"))
	}
	return true
}

func texts(list []varve.Reading) (all []string) {
	for i := range list {
		r := &list[i]
		all = append(all, fmt.Sprint(r.String(), " ", r.Arrived.UnixMilli(), " ", r.Fields))
	}
	slices.Sort(all)
	return all
}

// stored returns the readings in the files that a manifest names.
func stored(t *rapid.T, o objectstore.Store, key string) []string {
	body, err := o.Get(context.Background(), key, 0, -1)
	must(t, err)
	var m struct{ Files []struct{ Name string } }
	must(t, json.Unmarshal(body, &m))
	var all []varve.Reading
	for _, f := range m.Files {
		body, err := o.Get(context.Background(), key[:strings.LastIndexByte(key, '/')+1]+f.Name, 0, -1)
		must(t, err)
		rd, err := parquetfile.Open(bytes.NewReader(body), int64(len(body)))
		must(t, err)
		for i := range rd.Groups() {
			blocks, err := rd.ReadGroup(i, true)
			must(t, err)
			for _, b := range blocks {
				for k := range b.Len() {
					var r varve.Reading
					b.Fill(k, &r)
					all = append(all, r)
				}
			}
		}
	}
	return texts(all)
}

// checkLeftovers checks that the record of a table no longer names attempts.
func checkLeftovers(t *rapid.T, o objectstore.Store, a *archive.Archiver, tb grid.Table) {
	r, _, err := a.Catalog().Get(context.Background(), tb)
	must(t, err)
	if len(r.Attempts) > 0 {
		t.Errorf("the record still names the attempts %v", r.Attempts)
	}
}
