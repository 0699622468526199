package archive_test

import (
	"context"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store/mem"
)

// TestExpire_KeepsForeignObjects puts two objects of other programs into the folder of an archive. One
// resembles a manifest, but names no attempt. The other has no attempt in its name. Expire must delete
// neither.
func TestExpire_KeepsForeignObjects(t *testing.T) {
	withErased(t, func(t *rapid.T, a *archive.Archiver, objects *folder.Folder, r *archive.Record) {
		ctx := context.Background()
		must(t, objects.PutNew(ctx, r.Dir+"manifest.json", []byte(`{"version":1,"table":"`+table.Name()+`"}`)))
		must(t, objects.PutNew(ctx, r.Dir+"notes.txt", []byte("foreign")))
		deleted, err := a.Expire(ctx, 0, func(grid.Table) bool { return false })
		if err != nil || len(deleted) != 1 {
			t.Fatalf("%d archives were deleted, error %v, want one", len(deleted), err)
		}
		for _, name := range []string{"manifest.json", "notes.txt"} {
			if _, err := objects.Stat(ctx, r.Dir+name); err != nil {
				t.Errorf("a foreign object was deleted: %v", err)
			}
		}
	})
}

// TestErase_KeepsFilesOfCopiedManifest copies the manifest of an archive to a lower number. An erasure that
// finds nothing to erase must not delete the present files, which the copy names, too.
func TestErase_KeepsFilesOfCopiedManifest(t *testing.T) {
	withErased(t, func(t *rapid.T, a *archive.Archiver, objects *folder.Folder, r *archive.Record) {
		ctx := context.Background()
		body, err := objects.Get(ctx, r.ManifestKey(), 0, -1)
		must(t, err)
		must(t, objects.PutNew(ctx, r.Dir+"manifest.json", body))
		_, err = a.Erase(ctx, []grid.Table{table}, func(*varve.Reading) bool { return false }, nil)
		must(t, err)
		if err := a.Verify(ctx, r); err != nil {
			t.Errorf("the archive has lost its files: %v", err)
		}
	})
}

// withErased calls a function with an archive that an erasure has rewritten. Its manifest has the number 2.
func withErased(t *testing.T, do func(t *rapid.T, a *archive.Archiver, objects *folder.Folder, r *archive.Record)) {
	randomtest.LimitChecks(t, 3)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx, s := context.Background(), mem.New(clock)
		root, err := os.MkdirTemp(dir, "objects")
		must(t, err)
		objects, err := folder.Open(root, folder.Shared)
		must(t, err)
		want := fill(t, s, table)
		must(t, s.Retire(ctx, table, now.Add(-time.Hour)))
		a := archiver(s, s, objects, s)
		_, err = a.Archive(ctx, info(t, s, table))
		must(t, err)
		if len(want) == 0 {
			return
		}
		_, err = a.Erase(ctx, []grid.Table{table}, func(r *varve.Reading) bool { return r.Position() == want[0].Position() }, nil)
		must(t, err)
		r, _, err := a.Catalog().Get(ctx, table)
		must(t, err)
		if r.Generation != 2 {
			t.Fatalf("the manifest has the number %d, want 2", r.Generation)
		}
		do(t, a, objects, &r)
	})
}
