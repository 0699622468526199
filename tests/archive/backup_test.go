package archive_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/s3"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/tests/s3test"
)

// TestBackup_InBucket makes two backups in a bucket and verifies them. Then it deletes the first backup,
// and restores the second. The restored store must have both readings.
func TestBackup_InBucket(t *testing.T) {
	endpoint, _ := s3test.Start(t)
	b, err := s3.Open(t.Context(), s3.Options{Bucket: s3test.Bucket, Prefix: "some/store", Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	s := openLocal(t, t.TempDir())
	r, ok := grid.DefaultPolicy().Locate(month.Start().Add(time.Hour), month)
	if !ok {
		t.Fatal("no table")
	}
	tb := grid.Table{Prefix: "t", Range: r, Month: month}
	if err := s.Create(t.Context(), tb, store.Hot); err != nil {
		t.Fatal(err)
	}
	place := backup.NewPlace(b, "some/store", time.Now)
	for i := range 2 {
		result := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: []varve.Reading{backedUp(tb, i)}}})[0]
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		made, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := place.Make(t.Context(), backup.Snapshot{Dir: made.Dir, Store: made.Store, Created: made.Created}); err != nil {
			t.Fatal(err)
		}
		if err := made.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := place.Manifests(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatal(len(list), err)
	}
	if problems, err := place.Verify(t.Context(), list); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	if done, err := place.Prune(t.Context(), 1, false); err != nil || len(done.Backups) != 1 || done.Files == 0 {
		t.Error(done, err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if err := place.Restore(t.Context(), list[1], dir, nil); err != nil {
		t.Fatal(err)
	}
	restored := openLocal(t, dir)
	for i := range 2 {
		want := backedUp(tb, i)
		page, err := restored.Read(t.Context(), store.Range{Table: tb, Window: tb.Window(), Order: varve.Ascending, Series: want.Series}, nil)
		if err != nil || len(page.Readings) != 2 || !page.Readings[i].Time.Equal(want.Time) {
			t.Errorf("reading %d: %+v, %v", i, page.Readings, err)
		}
	}
}

// backedUp returns reading i of the only device.
func backedUp(in grid.Table, i int) varve.Reading {
	return varve.Reading{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "d"}, Arrived: month.Start().Add(48 * time.Hour),
		Time: in.Window().From.Add(time.Duration(i) * time.Minute), Fields: []varve.Field{{Name: "n", Value: varve.IntValue(int64(i))}},
	}
}

func openLocal(t *testing.T, dir string) *local.Store {
	t.Helper()
	s, err := local.Open(local.Options{Dir: dir, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
