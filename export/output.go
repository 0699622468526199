package export

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/internal/fileerr"
	"github.com/varvedb/varve/internal/filesync"
)

// Format is the format of the exported files.
type Format string

// The formats.
const (
	NDJSON  Format = "ndjson"
	CSV     Format = "csv"
	Parquet Format = "parquet"
)

// Formats returns the names of all formats.
func Formats() []string { return []string{string(NDJSON), string(CSV), string(Parquet)} }

// output is the file that is being written. NDJSON is written as it arrives. CSV collects the text of the
// rows, because the header has the fields of all rows. Parquet collects row groups.
type output struct {
	format   Format
	path     string
	file     *os.File // the temporary file; nil until it is created
	lines    *bufio.Writer
	rows     []rows               // for CSV, all rows; they are written when the output is closed
	parquet  *parquetfile.Builder // nil before the first reading
	files    []string             // the Parquet files of this output
	readings []varve.Reading      // for Parquet, the changes until they are sorted
	held     int64                // size of rows and readings, in bytes
	n        int
	bytes    int64
}

// addText adds an answer in CSV or NDJSON. If the argument "device" is not empty, all readings of the
// answer belong to this device, and the answer does not name it. The text is not used afterwards.
func (o *output) addText(text []byte, device string) error {
	if o.format == CSV {
		return o.addRows(text, device)
	}
	return o.addLines(text, device)
}

// addLines copies NDJSON to the file. If the argument "device" is not empty, addLines inserts it into
// each line.
func (o *output) addLines(text []byte, device string) error {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return errIncomplete
	}
	if o.file == nil {
		if err := o.create(); err != nil {
			return err
		}
	}
	if device == "" {
		o.n += bytes.Count(text, []byte{'\n'})
		_, err := o.lines.Write(text)
		return fileerr.Short(err)
	}
	prefix := append(wire.AppendString([]byte(`{"device":`), device), ',')
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		_, err := o.lines.Write(prefix)
		if err == nil {
			_, err = o.lines.Write(text[1:end])
		}
		if err != nil {
			return fileerr.Short(err)
		}
		text = text[end:]
		o.n++
	}
	return nil
}

// addSorted adds a reading to a Parquet file. Readings must be sorted by series and position.
func (o *output) addSorted(r *varve.Reading) error {
	if o.parquet == nil {
		if err := o.beginParquet(); err != nil {
			return err
		}
	}
	o.n++
	return o.parquet.Add(r)
}

// addUnsorted adds a reading to the list that closeParquet sorts.
func (o *output) addUnsorted(r *varve.Reading) error {
	o.readings = append(o.readings, r.Clone())
	o.held += int64(r.Size() + fieldBytes*len(r.Fields))
	o.n++
	return nil
}

// fieldBytes is the assumed memory of a field without its name and text.
const fieldBytes = 64

// mark is the state of the collected readings.
type mark struct {
	held int64
	n    int
}

func (o *output) collected() mark { return mark{o.held, o.n} }

// resetTo removes the readings that addUnsorted has added since the mark.
func (o *output) resetTo(m mark) {
	left := len(o.readings) - (o.n - m.n)
	clear(o.readings[left:])
	o.readings, o.held, o.n = o.readings[:left], m.held, m.n
}

// close completes the file durably. It returns false if nothing was written.
func (o *output) close() (written bool, err error) {
	switch o.format {
	case Parquet:
		return o.closeParquet()
	case CSV:
		return o.closeRows()
	default:
		return o.closeLines()
	}
}

func (o *output) replace(path string, body []byte) error {
	o.bytes += int64(len(body))
	f, err := os.Create(path + ".tmp") // with the permissions of files in other formats
	if err != nil {
		return fileerr.Short(err)
	}
	return finishFile(f, path, body)
}

func (o *output) closeLines() (written bool, err error) {
	if o.file == nil {
		return false, nil
	}
	err = errors.Join(o.lines.Flush(), o.file.Sync())
	if info, statErr := o.file.Stat(); statErr == nil {
		o.bytes = info.Size()
	}
	err = errors.Join(err, o.file.Close())
	if err == nil && o.n > 0 {
		err = filesync.Rename(o.path+".tmp", o.path)
	} else {
		err = errors.Join(err, os.Remove(o.path+".tmp"))
	}
	return o.n > 0 && err == nil, fileerr.Short(err)
}

// abandon removes the files of an output that is not complete.
func (o *output) abandon() (err error) {
	if o.parquet != nil {
		_ = o.parquet.Wait() // the run has failed already, and reports its own error
	}
	for _, path := range o.files {
		err = errors.Join(err, os.Remove(path))
	}
	if o.file != nil {
		err = errors.Join(err, o.file.Close(), os.Remove(o.path+".tmp"))
	}
	return err
}

// beginParquet removes the files of an interrupted run, and begins a Parquet file. If the types of a
// field differ, the builder writes further files with the same number.
func (o *output) beginParquet() error {
	stem := strings.TrimSuffix(o.path, "."+string(Parquet))
	old, err := findFiles(filepath.Dir(stem), regexp.QuoteMeta(filepath.Base(stem))+`\.`)
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fileerr.Short(err)
	}
	path := o.path
	o.parquet = parquetfile.NewBuilder(parquetfile.Options{MaxBytes: 1 << 30, Concurrent: true, Put: func(f parquetfile.File) error {
		if err := o.replace(path, f.Body); err != nil {
			return err
		}
		o.files = append(o.files, path)
		path = fmt.Sprintf("%s.%d.%s", stem, len(o.files)+1, Parquet)
		return nil
	}})
	return nil
}

// findFiles returns the paths of the files in a folder whose names begin with a match of a pattern.
func findFiles(dir, pattern string) (paths []string, err error) {
	prefix, err := regexp.Compile("^" + pattern)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if prefix.MatchString(entry.Name()) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, fileerr.Short(err)
}

func (o *output) closeParquet() (written bool, err error) {
	slices.SortStableFunc(o.readings, func(a, b varve.Reading) int {
		return cmp.Or(a.Series.Compare(b.Series), a.Position().Compare(b.Position()))
	})
	for i := range o.readings {
		o.n-- // addSorted counts the reading again
		if err := o.addSorted(&o.readings[i]); err != nil {
			return false, err
		}
	}
	if o.parquet == nil {
		return false, nil
	}
	return true, o.parquet.Close()
}
