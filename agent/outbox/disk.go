package outbox

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/varvedb/varve/internal/filesync"
)

// File is a file of a Disk.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes the content of the file durable.
	Sync() error
	// Size returns the length of the file.
	Size() (int64, error)
}

// Disk is a file system. File names in arguments include the folder.
type Disk interface {
	// MakeFolder creates a folder and its missing parents.
	MakeFolder(dir string) error
	// List returns the names of the files in a folder, without the folder.
	List(dir string) ([]string, error)
	// Create creates an empty file, and replaces an existing one.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncFolder makes the names of the files in a folder durable.
	SyncFolder(dir string) error
}

type system struct{}

type systemFile struct{ *os.File }

func (f systemFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (system) MakeFolder(dir string) error { return os.MkdirAll(dir, 0o700) }

func (system) List(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (system) Create(name string) (File, error) {
	f, err := os.OpenFile(filepath.Clean(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

func (system) Open(name string) (File, error) {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

func (system) Rename(from, to string) error { return os.Rename(from, to) }
func (system) Remove(name string) error     { return os.Remove(name) }

func (system) SyncFolder(dir string) error {
	if err := filesync.Folder(dir); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
