package backup_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/objectstore"
)

// altering changes the bytes of the objects that it stores below a folder.
type altering struct {
	objectstore.Store
	folder string
	puts   int
}

func (a *altering) PutNew(ctx context.Context, key string, body []byte) error {
	if strings.Contains(key, a.folder) {
		a.puts++
		body = bytes.Clone(body)
		body[len(body)/2] ^= 1
	}
	return a.Store.PutNew(ctx, key, body)
}

// TestMake_ReadsBack checks that a backup fails if the place stores other bytes than it was given.
func TestMake_ReadsBack(t *testing.T) {
	for _, dir := range []string{"/files/", "/backups/"} {
		w := newWorld(t)
		w.write(400)
		objects := &altering{Store: w.folder(w.dir), folder: dir}
		if made, err := w.make(w.placeOf(objects)); err == nil || !strings.Contains(err.Error(), "read back") {
			t.Errorf("%s: a backup of altered bytes: %+v, %v", dir, made, err)
		}
		if objects.puts == 0 {
			t.Errorf("%s: no object was altered", dir)
		}
	}
}

// TestMake_ReplacesAlteredFiles alters the files of a backup whose process ended before it wrote the manifest.
// The next backup must not use them as they are, although their sizes are right.
func TestMake_ReplacesAlteredFiles(t *testing.T) {
	w := newWorld(t)
	w.write(400)
	made, err := w.make(w.place)
	if err != nil {
		t.Fatal(err)
	}
	for i := range made.Manifest.Files {
		w.edit(made.Manifest, i, func(data []byte) []byte {
			if len(data) > 0 {
				data[len(data)/2] ^= 1
			}
			return data
		})
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "some/store/backups")); err != nil {
		t.Fatal(err)
	}
	made, err = w.make(w.place)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := w.place.Verify(t.Context(), []*backup.Manifest{made.Manifest})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if got := w.restored(made.Manifest); got != w.sent {
		t.Errorf("%d restored readings, want %d", got, w.sent)
	}
}
