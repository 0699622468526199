package archive_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/objectstore/s3"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/tests/s3test"
)

// TestAccept_InBucketAndFolder erases a device from merged archives in a bucket and in a folder,
// and restores the earlier records. After an acceptance, Verify must succeed. Then the test damages
// a row group. The next plan must list it as a loss, and the acceptance of that plan must succeed,
// too.
func TestAccept_InBucketAndFolder(t *testing.T) {
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
		t.Run(strings.Trim(strings.SplitN(fmt.Sprintf("%T", objects), ".", 2)[0], "*"), func(t *testing.T) {
			a, items := archiveMerged(t, objects)
			acceptErased(t, a, items)
			acceptDamaged(t, a, root)
		})
	}
}

// archiveMerged archives and merges two tables. It returns the archiver and its registry.
func archiveMerged(t *testing.T, objects objectstore.Store) (*archive.Archiver, store.Items) {
	t.Helper()
	a, _ := archiveTables(t, objects)
	for range 2 {
		if _, err := a.Merge(t.Context(), nil, true); err != nil {
			t.Fatal(err)
		}
	}
	return a, a.Catalog().Items
}

// acceptErased erases a device, restores the earlier records of the archives, and accepts the archives.
func acceptErased(t *testing.T, a *archive.Archiver, items store.Items) {
	t.Helper()
	records, err := a.Catalog().List(t.Context())
	if err != nil || len(records) != 2 || records[0].Merged == "" {
		t.Fatal(records, err)
	}
	var keys []store.Key
	var tables []grid.Table
	for i := range records {
		tables = append(tables, records[i].Table)
		keys = append(keys, store.Key{PK: archive.RecordsPK, SK: records[i].Table.Name()})
	}
	earlier, err := items.Get(t.Context(), keys, true)
	if err != nil {
		t.Fatal(err)
	}
	device := readingOf(0, clock(), 0).Device
	erased, err := a.Erase(t.Context(), tables, func(r *varve.Reading) bool { return r.Device == device }, nil)
	if err != nil || erased[tables[0]] != 1000 {
		t.Fatal(erased, err)
	}
	for _, it := range earlier {
		if err := items.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	acceptor := archive.NewAcceptor(a)
	for i := range records {
		if err := a.Verify(t.Context(), &records[i]); err == nil {
			t.Fatal("the earlier record still verifies")
		}
		p, err := acceptor.Plan(t.Context(), tables[i], nil)
		if err != nil || p.Loses() || p.Erased != 1000 || p.Readings != 1000 {
			t.Fatalf("%+v, %v", p, err)
		}
		r, err := acceptor.Accept(t.Context(), tables[i], nil, p.Digest())
		if err != nil || a.Verify(t.Context(), &r) != nil {
			t.Fatal(r, err)
		}
	}
}

// acceptDamaged damages a row group, and accepts the readings of all other row groups.
func acceptDamaged(t *testing.T, a *archive.Archiver, root string) {
	t.Helper()
	records, err := a.Catalog().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(records[0].Merged), "part-*-00000.parquet"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	body, err := os.ReadFile(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	body[100] ^= 1 // a byte of the first row group
	if err := os.WriteFile(parts[0], body, 0o600); err != nil {
		t.Fatal(err)
	}
	acceptor, remaining := archive.NewAcceptor(a), int64(0)
	for i := range records {
		p, err := acceptor.Plan(t.Context(), records[i].Table, nil)
		if err != nil || !p.Rewrite || p.Lost.Readings+p.Readings != 1000 || len(p.Damaged) != 1 || p.Lost.Series > 1 {
			t.Fatalf("%+v, %v", p, err)
		}
		r, err := acceptor.Accept(t.Context(), records[i].Table, nil, p.Digest())
		if err != nil || a.Verify(t.Context(), &r) != nil || r.Readings != p.Readings {
			t.Fatal(r, err)
		}
		remaining += r.Readings
	}
	if remaining != 1500 {
		t.Errorf("%d readings remain, want all but one row group of 500", remaining)
	}
}
