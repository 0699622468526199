package archive_test

import (
	"context"
	"slices"
	"strings"
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

// withoutManifests is an object store in which no manifest can be written.
type withoutManifests struct{ objectstore.Store }

func (w withoutManifests) PutNew(ctx context.Context, key string, body []byte) error {
	if strings.Contains(key, "manifest") {
		return errInjected
	}
	return w.Store.PutNew(ctx, key, body)
}

// TestArchive_ForgetsAttemptOfWholeArchive cuts a file of an archive, and archives the table again. That
// attempt fails, and the file is repaired from elsewhere. Then the files of the attempt must be deleted, and
// the record must no longer name it.
func TestArchive_ForgetsAttemptOfWholeArchive(t *testing.T) {
	randomtest.LimitChecks(t, 1)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx, s := context.Background(), mem.New(clock)
		objects, remove := inFolder(dir)(t)
		defer remove()
		must(t, s.Create(ctx, table, store.Hot))
		write(t, s, table, 20)
		must(t, s.Retire(ctx, table, now.Add(-time.Hour)))
		whole := archiver(s, s, objects, s)
		_, err := whole.Archive(ctx, info(t, s, table))
		must(t, err)
		before := sortedKeys(t, objects)
		file := before[slices.IndexFunc(before, func(key string) bool { return strings.HasSuffix(key, ".parquet") })]
		body, err := objects.Get(ctx, file, 0, -1)
		must(t, err)
		replace := func(body []byte) {
			must(t, objects.Delete(ctx, file))
			must(t, objects.PutNew(ctx, file, body))
		}
		replace(body[:len(body)/2])
		if _, err := archiver(s, s, withoutManifests{objects}, s).Archive(ctx, info(t, s, table)); err == nil {
			t.Fatal("the table was archived without a manifest")
		}
		replace(body)
		if r, _, err := whole.Catalog().Get(ctx, table); err != nil || len(r.Attempts) == 0 || len(sortedKeys(t, objects)) == len(before) {
			t.Fatalf("%+v, %v: no attempt was made", r, err)
		}
		returned, err := whole.Archive(ctx, info(t, s, table))
		must(t, err)
		recorded, _, err := whole.Catalog().Get(ctx, table)
		must(t, err)
		if len(returned.Attempts) > 0 || len(recorded.Attempts) > 0 {
			t.Errorf("attempts %v were returned, and %v recorded", returned.Attempts, recorded.Attempts)
		}
		if after := sortedKeys(t, objects); !slices.Equal(after, before) {
			t.Errorf("objects %v, want %v", after, before)
		}
	})
}

// sortedKeys returns the keys of all objects, in ascending order.
func sortedKeys(t *rapid.T, o objectstore.Store) (keys []string) {
	must(t, o.List(context.Background(), "", func(o objectstore.Object) error {
		keys = append(keys, o.Key)
		return nil
	}))
	slices.Sort(keys)
	return keys
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
