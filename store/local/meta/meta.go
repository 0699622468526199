package meta

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrChecksum means that the checksum of a file is wrong or missing.
var ErrChecksum = errors.New("checksum does not match")

// category names the writes of this package in the statistics of the file system.
const category = vfs.DiskWriteCategory("varve-store")

// suffixTemp is the suffix of files that are being written.
const suffixTemp = ".tmp"

// maxBytes is the maximum number of bytes that Read returns.
const maxBytes = 1 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ID identifies a store permanently.
type ID [16]byte

// NewID returns a random ID.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the ID is not set.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID parses a text that String returned.
func ParseID(text string) (id ID, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q is not the id of a store", text)
	}
	return ID(b), nil
}

// Seal returns text with its checksum. The text must end with a newline.
func Seal(text string) string {
	return fmt.Sprintf("%scrc32c %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

// Unseal verifies the checksum and returns the text without it.
func Unseal(sealed string) (text string, err error) {
	at := strings.LastIndex(strings.TrimSuffix(sealed, "\n"), "\n") + 1
	if at == 0 || Seal(sealed[:at]) != sealed {
		return "", ErrChecksum
	}
	return sealed[:at], nil
}

// Read returns the content of a small file.
func Read(fs vfs.FS, path string) (text string, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes))
	return string(data), err
}

// Write replaces a file, atomically and durably.
func Write(fs vfs.FS, path, text string) error {
	tmp := path + suffixTemp
	f, err := fs.Create(tmp, category)
	if err != nil {
		return err
	}
	if _, err = f.Write([]byte(text)); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return Rename(fs, tmp, path)
}

// Rename renames a file within its folder, durably.
func Rename(fs vfs.FS, from, to string) error {
	if err := fs.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(fs, fs.PathDir(to))
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// IsTemp reports whether a name is the name of a temporary file of Write. It returns the name of the
// file that Write was about to replace.
func IsTemp(name string) (of string, ok bool) { return strings.CutSuffix(name, suffixTemp) }
