package local

import (
	"errors"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve/store/local/sst"
)

// CheckFile reads a file of a data folder or a snapshot, and returns its damage, or nil. The path is relative to
// the folder. CheckFile verifies the checksum of each block of a file of Pebble whose name ends in .sst. It does
// not read other files, and returns nil for them. It opens no store, so a server may have the folder open.
func CheckFile(dir, path string) (damage, err error) {
	if filepath.Ext(path) != ".sst" {
		return nil, nil
	}
	err = checkBlocks(filepath.Join(dir, filepath.FromSlash(path)))
	if pebble.IsCorruptionError(err) {
		return err, nil
	}
	return nil, err
}

func checkBlocks(path string) (err error) {
	file, err := sst.Open(vfs.Default, path, &pebble.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.CheckRest(); err != nil {
		return err
	}
	x, err := file.Extent()
	if err != nil || len(x.Holes) == 0 {
		return err
	}
	return x.Holes[0].Err
}
