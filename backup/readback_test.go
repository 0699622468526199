package backup_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

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
