package sst

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Writer writes entries to new files for ingestion by Pebble.
type Writer struct {
	fs      vfs.FS
	dir     string
	name    string
	options sstable.WriterOptions
	open    *sstable.Writer
	size    int64 // approximate size of the open file
	paths   []string
}

const category = vfs.DiskWriteCategory("varve-repair")

// fileBytes is the size at which a new file is begun.
const fileBytes = 64 << 20

// NewWriter returns a writer of files in a folder. The names of the files begin with "name".
func NewWriter(fs vfs.FS, dir, name string, o *pebble.Options) *Writer {
	format := o.FormatMajorVersion.MaxTableFormat()
	return &Writer{fs: fs, dir: dir, name: name, options: o.MakeWriterOptions(len(o.Levels)-1, format)}
}

// Set adds the next key.
func (w *Writer) Set(key, value []byte) error {
	if w.open == nil {
		path := w.fs.PathJoin(w.dir, fmt.Sprintf("%s-%d.sst", w.name, len(w.paths)))
		file, err := w.fs.Create(path, category)
		if err != nil {
			return err
		}
		w.paths = append(w.paths, path)
		w.open, w.size = sstable.NewWriter(objstorageprovider.NewFileWritable(file), w.options), 0
	}
	if err := w.open.Set(key, value); err != nil {
		return err
	}
	if w.size += int64(len(key) + len(value)); w.size < fileBytes {
		return nil
	}
	return w.end()
}

func (w *Writer) end() error {
	open := w.open
	w.open = nil
	return open.Close() // syncs the file
}

// Finish closes the last file and returns the paths of all files.
func (w *Writer) Finish() ([]string, error) {
	if w.open == nil {
		return w.paths, nil
	}
	return w.paths, w.end()
}

// Discard removes the written files.
func (w *Writer) Discard() error {
	var errs []error
	if w.open != nil {
		errs = append(errs, w.end())
	}
	for _, path := range w.paths {
		errs = append(errs, w.fs.Remove(path))
	}
	return errors.Join(errs...)
}
