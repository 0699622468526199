package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// input is one file to be sent.
type input struct {
	path   string
	stdin  bool
	format wire.Format
	packed string // gz or zst
	stream string
	device string // of readings that name none
	fixed  bool   // --device was given
	size   int64  // 0 if it is not known
	mtime  int64  // ns
}

// formats are the forms by the ends of file names.
var formats = map[string]wire.Format{
	".csv": wire.CSV, ".ndjson": wire.NDJSON, ".jsonl": wire.NDJSON, ".json": wire.JSON,
}

func parseFormat(s string) (wire.Format, error) {
	f, ok := formats["."+s]
	if !ok {
		return 0, usageError{fmt.Errorf("--format %q is unknown: use csv, ndjson or json", s)}
	}
	return f, nil
}

// findInputs lists the files that the arguments name.
func findInputs(f *ingestFlags, args []string) ([]input, error) {
	var inputs []input
	for _, arg := range args {
		if arg == "-" {
			in, err := stdinInput(f)
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, in)
			continue
		}
		paths, err := filesOf(arg)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			in, err := fileInput(f, path)
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, in)
		}
	}
	return inputs, nil
}

// filesOf returns a file, or the files below a folder that look like readings.
func filesOf(arg string) ([]string, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, plainPath(err)
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	var paths []string
	err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, _, ok := formatOf(path); ok && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: there is no file in it that ends in .csv, .ndjson, .jsonl or .json", arg)
	}
	slices.Sort(paths)
	return paths, err
}

// plainPath words an error about a file as path: what.
func plainPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}

// formatOf reads the form and packing from a file's name.
func formatOf(path string) (f wire.Format, packed string, ok bool) {
	name := strings.ToLower(path)
	for _, end := range []string{"gz", "zst"} {
		if rest, cut := strings.CutSuffix(name, "."+end); cut {
			name, packed = rest, end
		}
	}
	f, ok = formats[filepath.Ext(name)]
	return f, packed, ok
}

func fileInput(f *ingestFlags, path string) (input, error) {
	in := input{path: path, stream: f.stream, device: f.device, fixed: f.device != ""}
	info, err := os.Stat(path)
	if err != nil {
		return in, plainPath(err)
	}
	in.size, in.mtime = info.Size(), info.ModTime().UnixNano()
	var ok bool
	in.format, in.packed, ok = formatOf(path)
	if f.format != "" {
		if in.format, err = parseFormat(f.format); err != nil {
			return in, err
		}
	} else if !ok {
		return in, usageError{fmt.Errorf("%s: its name does not say what it is: use --format csv, ndjson or json", path)}
	}
	if in.device == "" {
		in.device = baseName(path)
	}
	if in.stream == "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return in, err
		}
		in.stream = filepath.Base(filepath.Dir(abs))
		if err := varve.ValidateName("stream", in.stream); err != nil {
			return in, usageError{fmt.Errorf("%s: its folder's name is no stream's: %w; use --stream", path, err)}
		}
	}
	return in, checkStream(in.stream)
}

func checkStream(stream string) error {
	if err := varve.ValidateName("stream", stream); err != nil {
		return usageError{err}
	}
	return nil
}

// baseName is the name of a file without its endings.
func baseName(path string) string {
	name := filepath.Base(path)
	for _, end := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, end)
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func stdinInput(f *ingestFlags) (input, error) {
	in := input{path: "standard input", stdin: true, stream: f.stream, device: f.device, fixed: f.device != ""}
	if f.stream == "" || f.format == "" {
		return in, usageError{errors.New("standard input has no name: say --stream and --format")}
	}
	if f.checkpoint != "" {
		return in, usageError{errors.New("--checkpoint needs files: standard input cannot be gone back to")}
	}
	var err error
	if in.format, err = parseFormat(f.format); err != nil {
		return in, err
	}
	return in, checkStream(in.stream)
}

// deviceParam returns the device to send along. CSV files with a column of
// devices need none.
func (in *input) deviceParam(names []string, c wire.Columns) string {
	column := c.Device
	if column == "" {
		column = "device"
	}
	if !in.fixed && in.format == wire.CSV && slices.Contains(names, column) {
		return ""
	}
	return in.device
}

// file is an open input.
type file struct {
	io.Reader
	plain  io.Reader // the file itself, if it is not packed
	closes []func() error
}

// source is what can be skipped in: the file itself, or what it unpacks to.
func (f *file) source() io.Reader {
	if f.plain != nil {
		return f.plain
	}
	return f.Reader
}

func (f *file) Close() error {
	var errs []error
	for i := len(f.closes) - 1; i >= 0; i-- {
		errs = append(errs, f.closes[i]())
	}
	return errors.Join(errs...)
}

func (in *input) open(stdin io.Reader) (*file, error) {
	if in.stdin {
		return &file{Reader: stdin}, nil
	}
	raw, err := os.Open(in.path)
	if err != nil {
		return nil, plainPath(err)
	}
	f := &file{Reader: raw, plain: raw, closes: []func() error{raw.Close}}
	switch in.packed {
	case "gz":
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		f.Reader, f.plain, f.closes = z, nil, append(f.closes, z.Close)
	case "zst":
		z, err := zstd.NewReader(raw)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		f.Reader, f.plain = z, nil
		f.closes = append(f.closes, func() error { z.Close(); return nil })
	}
	return f, nil
}

// pack packs a body.
func pack(how string, data []byte) ([]byte, error) {
	var out bytes.Buffer
	if how == "gzip" {
		z := gzip.NewWriter(&out)
		if _, err := z.Write(data); err != nil {
			return nil, err
		}
		err := z.Close()
		return out.Bytes(), err
	}
	z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}
