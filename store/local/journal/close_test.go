package journal

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// unclosableFS is a disk on which closing the file of the first segment fails.
type unclosableFS struct{ vfs.FS }

type unclosableFile struct{ vfs.File }

func (f unclosableFile) Close() error {
	return errors.Join(f.File.Close(), errors.New("input/output error"))
}

func (f unclosableFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	if err == nil && strings.HasSuffix(name, fileName(1)) {
		file = unclosableFile{file}
	}
	return file, err
}

// TestRotate_IgnoresFailedClose makes the close of an ended segment fail. All of its frames are durable, so
// later frames must be accepted.
func TestRotate_IgnoresFailedClose(t *testing.T) {
	w := open(t, unclosableFS{vfs.NewMem()}, 1)
	if err := w.Append(Readings, []byte("x")).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	w.Rotate()
	if err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Ready(); err != nil {
		t.Errorf("the journal is not ready: %v", err)
	}
}
