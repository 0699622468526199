package archive_test

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// TestArchive_DiscardsUnfinishedOneOfDroppedTable kills a process before each of its steps while it archives
// a table, which is dropped afterward. An archive without a manifest must be discarded with its files, and
// then erasures of the table must succeed. An archive with a manifest must stay, and it must be possible to
// accept it.
func TestArchive_DiscardsUnfinishedOneOfDroppedTable(t *testing.T) {
	randomtest.LimitChecks(t, 1)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		discarded, refused := 0, 0
		for step := 0; ; step++ {
			ctx, s := context.Background(), mem.New(clock)
			objects, err := folder.Open(dir+"/"+rapid.StringMatching("[a-z]{12}").Draw(t, "folder"), folder.Shared)
			must(t, err)
			fill(t, s, table)
			must(t, s.Retire(ctx, table, now.Add(-time.Hour)))
			p := &process{at: step, fault: dieBefore}
			if _, err := archiver(s, faultyItems{s, p}, faultyObjects{objects, p}, s).Archive(ctx, info(t, s, table)); err == nil {
				break
			}
			a := archiver(s, s, objects, s)
			if r, found, err := a.Catalog().Get(ctx, table); err != nil || !found || r.State != archive.Writing {
				continue
			}
			must(t, archive.DiscardUnfinished(ctx, a, func(grid.Table) bool { return true }))
			if _, found, err := a.Catalog().Get(ctx, table); err != nil || !found {
				t.Fatalf("step %d: the record of an existing table was deleted: %v", step, err)
			}
			must(t, s.Drop(ctx, table))
			err = archive.DiscardUnfinished(ctx, a, func(grid.Table) bool { return false })
			if varve.FailureOf(err) == varve.Conflict {
				refused++
				plan, err := archive.NewAcceptor(a).Plan(ctx, table, nil)
				must(t, err)
				_, err = archive.NewAcceptor(a).Accept(ctx, table, nil, plan.Digest())
				must(t, err)
				continue
			}
			must(t, err)
			discarded++
			_, err = a.Erase(ctx, []grid.Table{table}, func(*varve.Reading) bool { return true }, nil)
			must(t, err)
			must(t, objects.List(ctx, "", func(o objectstore.Object) error {
				t.Errorf("step %d: %s is left", step, o.Key)
				return nil
			}))
		}
		if discarded == 0 || refused == 0 {
			t.Fatalf("%d archives were discarded, and %d refused", discarded, refused)
		}
	})
}

// TestErase_RemovesFilesOfDiedAttempt kills a process before each of its steps while it archives a
// table once more, with readings of a further device. CountDevice must count the device's readings, or
// report that the archive may have others. An erasure must remove them from all files.
func TestErase_RemovesFilesOfDiedAttempt(t *testing.T) {
	randomtest.LimitChecks(t, 1)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		attempts := 0
		for step := 0; ; step++ {
			ctx, s := context.Background(), mem.New(clock)
			objects, err := folder.Open(dir+"/"+rapid.StringMatching("[a-z]{12}").Draw(t, "folder"), folder.Shared)
			must(t, err)
			fill(t, s, table)
			must(t, s.Retire(ctx, table, now.Add(-time.Hour)))
			whole := archiver(s, s, objects, s)
			_, err = whole.Archive(ctx, info(t, s, table))
			must(t, err)
			added := varve.Reading{
				Series: varve.Series{Tenant: "acme", Stream: "s", Device: "added"}, Time: time.Unix(table.Start, 0), Arrived: table.Month.Start(),
				Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
			}
			added.Normalize()
			must(t, s.Write(ctx, []store.Batch{{Table: table, Readings: []varve.Reading{added}}})[0].Err)
			p := &process{at: step, fault: dieBefore}
			if _, err := archiver(s, faultyItems{s, p}, faultyObjects{objects, p}, s).Archive(ctx, info(t, s, table)); err == nil {
				break
			}
			r, _, err := whole.Catalog().Get(ctx, table)
			must(t, err)
			attempts += len(r.Attempts)
			counts, other, err := whole.CountDevice(ctx, &r, "acme", "added", varve.AllTime())
			must(t, err)
			if len(r.Attempts) > 0 && !other && len(counts) == 0 {
				t.Fatalf("step %d: an erasure would not search the archive", step)
			}
			covers := func(r *varve.Reading) bool { return r.Device == "added" }
			_, err = whole.Erase(ctx, []grid.Table{table}, covers, nil)
			must(t, err)
			checkErased(t, objects, covers)
		}
		if attempts == 0 {
			t.Fatal("no process died during its attempt")
		}
	})
}
