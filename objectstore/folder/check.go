package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Check reports whether a folder exists. It fails if Open would fail, or if files cannot be written. It
// creates no folder, and removes the file that it writes.
func Check(root string) (exists bool, err error) {
	at, err := nearest(root)
	if err != nil {
		return false, err
	}
	file, err := os.CreateTemp(at, temporary)
	if err != nil {
		return at == root, fmt.Errorf("write a file: %w", err)
	}
	return at == root, errors.Join(file.Close(), removeFile(file.Name()))
}

// nearest returns a folder, or the nearest existing folder above it.
func nearest(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		switch up := filepath.Dir(dir); {
		case err == nil && !info.IsDir():
			return dir, fmt.Errorf("%s is not a folder", dir)
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) || up == dir:
			return dir, err
		default:
			dir = up
		}
	}
}
