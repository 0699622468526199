package local

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// shortFS is a file system that reports damage if a file of Pebble ends early. Pebble alone would
// treat the early end as a temporary error, and would not report it.
type shortFS struct{ vfs.FS }

// Open implements vfs.FS.
func (f shortFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	if err != nil || !strings.HasSuffix(name, ".sst") {
		return file, err
	}
	return shortFile{file}, nil
}

// Unwrap returns the file system below.
func (f shortFS) Unwrap() vfs.FS { return f.FS }

type shortFile struct{ vfs.File }

// ReadAt implements io.ReaderAt.
func (f shortFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	if errors.Is(err, io.EOF) && n < len(p) {
		err = fmt.Errorf("%w: the file ends at %d, and %d bytes at %d were written", pebble.ErrCorruption, at+int64(n), len(p), at)
	}
	return n, err
}
