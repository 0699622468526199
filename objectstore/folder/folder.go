// Package folder stores objects as files of a folder.
//
//	object ──▶ temporary file, synced ──▶ link to its name ──▶ folders synced
//
// [Open] returns a [Folder], and [Check] tests a folder without creating it.
//
// A file with the name of an object is always complete, and no file is ever replaced. If a process is killed,
// its temporary file remains. List deletes such files after a day, in the folders that it reads. A failed
// write may leave the complete object. A Folder is safe for concurrent use, also by several processes.
package folder

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/varvedb/varve/internal/filesync"
	"github.com/varvedb/varve/objectstore"
)

// Folder is an object store in a folder.
type Folder struct {
	root string
	mode fs.FileMode // permissions of new folders
}

var _ objectstore.Store = (*Folder)(nil)

// Permissions of new folders. New files have the same permissions, but cannot be executed.
const (
	Private fs.FileMode = 0o700 // only the user of the process can read objects
	Shared  fs.FileMode = 0o750 // the group can read them, too
)

// Open returns the object store in a folder. It creates a missing folder.
func Open(root string, mode fs.FileMode) (*Folder, error) {
	if err := os.MkdirAll(root, mode); err != nil {
		return nil, fmt.Errorf("create the folder of objects: %w", err)
	}
	return &Folder{root, mode}, nil
}

// abandonedAfter is the age of a temporary file after which its process must have been killed.
const abandonedAfter = 24 * time.Hour

// removeAbandoned removes an old temporary file. The removal is optional, so it reports no errors.
func removeAbandoned(name string, d fs.DirEntry) {
	if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > abandonedAfter {
		_ = removeFile(name)
	}
}

// Location implements objectstore.Store.
func (f *Folder) Location() string { return f.root }

// temporary is the prefix of the names of files that are not objects.
const temporary = ".varve-"

func (f *Folder) path(key string) (string, error) {
	if !fs.ValidPath(key) {
		return "", fmt.Errorf("key %q is not valid", key)
	}
	return filepath.Join(f.root, filepath.FromSlash(key)), nil
}

// PutNew implements objectstore.Store.
func (f *Folder) PutNew(ctx context.Context, key string, body []byte) (err error) {
	name, err := f.path(key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, f.mode); err != nil {
		return err
	}
	temp := filepath.Join(dir, temporary+rand.Text())
	if err := writeSynced(temp, body, f.mode&0o666); err != nil {
		return errors.Join(err, removeFile(temp))
	}
	err = os.Link(temp, name)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s: %w", key, objectstore.ErrExists)
	}
	return errors.Join(err, removeFile(temp), f.syncUp(dir))
}

func writeSynced(name string, body []byte, mode fs.FileMode) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(body); err != nil {
		return err
	}
	return file.Sync()
}

func removeFile(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncUp syncs a folder, and the folders above it up to the root. These folders may be new.
func (f *Folder) syncUp(dir string) error {
	for {
		if err := filesync.Folder(dir); err != nil {
			return err
		}
		if dir == f.root || len(dir) <= len(f.root) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// Get implements objectstore.Store.
func (f *Folder) Get(ctx context.Context, key string, offset, length int64) (body []byte, err error) {
	file, err := f.open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	rest := info.Size() - offset
	if length < 0 {
		length = rest
	}
	if offset < 0 || rest < 0 || length > rest { // a damaged manifest may name any range, so the length is checked before memory is allocated
		return nil, fmt.Errorf("%s: %d bytes at %d, and it has %d: %w", key, length, offset, info.Size(), io.ErrUnexpectedEOF)
	}
	body = make([]byte, length)
	if n, err := file.ReadAt(body, offset); err != nil && (!errors.Is(err, io.EOF) || int64(n) < length) {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return body, nil
}

func (f *Folder) open(ctx context.Context, key string) (*os.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	name, err := f.path(key)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", key, objectstore.ErrMissing)
	}
	return file, err
}

// Stat implements objectstore.Store. It reads the whole file to compute the checksum.
func (f *Folder) Stat(ctx context.Context, key string) (o objectstore.Object, err error) {
	file, err := f.open(ctx, key)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	return objectstore.Object{Key: key, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// List implements objectstore.Store. Files whose names begin with a dot are not objects. In the folders that
// List reads, it deletes the temporary files of processes that were killed more than a day ago. Open does not
// delete them, because it would have to read all folders.
func (f *Folder) List(ctx context.Context, prefix string, each func(objectstore.Object) error) error {
	dir := prefix[:strings.LastIndexByte(prefix, '/')+1]
	start, err := f.path(strings.TrimSuffix(dir, "/"))
	if dir == "" {
		start, err = f.root, nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(start, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the folder start is missing, or another one was deleted during the walk
		}
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") {
			if strings.HasPrefix(d.Name(), temporary) {
				removeAbandoned(name, d)
			}
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(f.root, name)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(rel)
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was deleted after its folder was read
		}
		if err != nil {
			return err
		}
		return each(objectstore.Object{Key: key, Size: info.Size()})
	})
}

// Delete implements objectstore.Store. Empty folders remain.
func (f *Folder) Delete(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	name, err := f.path(key)
	if err != nil {
		return err
	}
	if err := removeFile(name); err != nil {
		return err
	}
	if err := f.syncUp(filepath.Dir(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
