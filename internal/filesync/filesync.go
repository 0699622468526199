// Package filesync makes the names of files survive a power cut.
//
// A file system may write a file before its name in the folder. So a program syncs the folder after it
// creates or renames a file.
package filesync

import (
	"errors"
	"os"
	"path/filepath"
)

// Folder makes the names in a folder durable. It fails with errors.ErrUnsupported if the file system cannot
// sync folders.
func Folder(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Rename renames a file, and then syncs the folder of the new name. If only the sync fails, the file has the
// new name.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Folder(filepath.Dir(to))
}
