package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/varvedb/varve/internal/fileerr"
	"github.com/varvedb/varve/internal/filesync"
)

// state is the progress of an export. It covers only complete files.
type state struct {
	Stream string `json:"stream"`
	Format string `json:"format"`
	// Cursor is the point in the changes after the exported readings.
	Cursor      string `json:"cursor"`
	IsFirstCopy bool   `json:"first,omitempty"`  // if true, the first copy is not complete
	AsOf        string `json:"as_of,omitempty"`  // time of the first copy; "" if the first copy has all readings
	Device      string `json:"device,omitempty"` // the device that the first copy has reached
	Next        string `json:"next,omitempty"`   // the cursor after the copied readings of Device; "" if all are copied
	Files       int    `json:"files"`            // number in the name of the last file
}

// load reads the state. It returns false if the path is empty or the file is missing.
func (s *state) load(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fileerr.Short(err)
	}
	stream, format := s.Stream, s.Format
	if err := json.Unmarshal(data, s); err != nil || s.Cursor == "" {
		return false, fmt.Errorf("%s is not a progress file of varve export: use another file", path)
	}
	if s.Stream != stream || s.Format != format {
		return false, fmt.Errorf("%s belongs to an export of stream %s as %s: use another file", path, s.Stream, s.Format)
	}
	return true, nil
}

// save replaces the state file. It does nothing if the path is empty.
func (s *state) save(path string) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(data, '\n'))
}

// replaceFile writes a file durably, or leaves the old one. Only the user of the process can read the file.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fileerr.Short(err)
	}
	return finishFile(f, path, data)
}

// finishFile writes data to a temporary file, and renames the file to path.
func finishFile(f *os.File, path string, data []byte) error {
	_, err := f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = filesync.Rename(f.Name(), path)
	}
	if err != nil {
		return fileerr.Short(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
