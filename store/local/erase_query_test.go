package local_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/sst"
)

// TestErase_RemovesKeysDuringQuery erases readings and deletes an item while a query of an index runs.
// Once the query has ended, no file may have their keys. The files have much other data, so that
// Pebble does not rewrite them by itself.
func TestErase_RemovesKeysDuringQuery(t *testing.T) {
	e := newExpiring(t)
	reads, running, resume := make(chan bool, 1), make(chan bool), make(chan bool)
	e.options.Now = func() time.Time {
		select {
		case <-reads: // the next read of an item waits
			running <- true
			<-resume
		default:
		}
		return arrived
	}
	e.reopen()
	for i := range 100 {
		if err := e.Put(t.Context(), item(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	it := store.Item{Key: store.Key{PK: "DEVICE#patient", SK: "LOG"}, GSI1: store.Key{PK: "G", SK: "x"}, Expires: arrived.Add(time.Hour)}
	if err := e.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	write(t, e.Store, e.table, readings(t, e.table, "patient", 100), varve.Stored)
	e.reopen()
	if keysWith(t, e.options.FS, "patient") == 0 {
		t.Fatal("no file has a key with the name of the device before")
	}
	var query sync.WaitGroup
	reads <- true
	query.Go(func() {
		page, err := e.Query(t.Context(), store.ItemQuery{Index: store.GSI1, PK: "G"})
		if len(page.Items) != 1 || err != nil {
			t.Errorf("the query returned %d items: %v", len(page.Items), err)
		}
	})
	<-running
	n, err := e.Erase(t.Context(), erasureOf(e, "patient"))
	err = errors.Join(err, e.Delete(t.Context(), it.Key), e.PurgeItems(t.Context(), []string{it.PK}))
	if n != 100 || err != nil {
		t.Errorf("%d readings were erased, want 100: %v", n, err)
	}
	resume <- true
	query.Wait()
	eventually(t, "no file has the keys", func() bool { return keysWith(t, e.options.FS, "patient") == 0 })
	e.close()
}

// keysWith counts the entries in the files of Pebble whose keys contain a text.
func keysWith(t *testing.T, fs vfs.FS, text string) (n int) {
	t.Helper()
	o := &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest}
	o.EnsureDefaults()
	names, err := fs.List("data/pebble")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		file, err := sst.Open(fs, fs.PathJoin("data/pebble", name), o)
		if err != nil {
			continue // the file was deleted meanwhile
		}
		scan, err := file.Scan(nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ok, err := scan.Next()
		for ; ok; ok, err = scan.Next() {
			if strings.Contains(string(scan.Entry().Key), text) {
				n++
			}
		}
		if err := errors.Join(err, scan.Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return n
}
