package main

import (
	"bufio"
	"bytes"
	"context"
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
	device string            // of readings that name none
	fixed  bool              // --device was given
	size   int64             // 0 if it is not known
	mtime  int64             // ns
	sent   map[string]string // where to and how; see ingestFlags.sent
}

// wrap says which file an error is about, unless the error does.
func (in *input) wrap(err error) error {
	if strings.HasPrefix(err.Error(), in.path+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", in.path, err)
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
		paths, err := filesOf(arg, f.checkpoint, f.rejects)
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

// filesOf returns a file, or the files below a folder that look like readings,
// without those that ingest itself writes.
func filesOf(arg string, own ...string) ([]string, error) {
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
		if _, _, ok := formatOf(path); ok && d.Type().IsRegular() && !slices.ContainsFunc(own, func(o string) bool { return sameFile(o, path) }) {
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

func sameFile(a, b string) bool {
	if a == "" {
		return false
	}
	ai, aErr := os.Stat(a)
	bi, bErr := os.Stat(b)
	return aErr == nil && bErr == nil && os.SameFile(ai, bi)
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
	if !in.fixed && in.format == wire.CSV && slices.Contains(names, c.DeviceColumn(names, false)) {
		return ""
	}
	return in.device
}

// checkColumns reports what the columns of a CSV file lack, also if there is no
// row below them.
func (in *input) checkColumns(names []string, c wire.Columns, device string) error {
	if in.format != wire.CSV {
		return nil
	}
	c.Names = names
	r, err := wire.NewReader(new(wire.Memory), wire.CSV, strings.NewReader(""), wire.Defaults{Device: device}, c)
	if err != nil {
		return usageError{paramError(err, "")}
	}
	if err = r.Read(new(wire.Batch)); err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	hint := ""
	switch text := err.Error(); {
	case strings.HasSuffix(text, "Name the one with the time"):
		hint = ": --time-column COLUMN"
	case strings.Contains(text, "Name the one with the device"):
		hint = ": --device-column COLUMN, or --device NAME"
	}
	if len(names) == 1 && hint != "" {
		hint += "; if something other than a comma separates columns, say so with --delimiter"
	}
	return fmt.Errorf("%w%s", err, hint)
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

func (in *input) open(ctx context.Context, stdin io.Reader) (*file, error) {
	if in.stdin {
		buffered := bufio.NewReader(interruptible(ctx, stdin))
		in.packed = packing(buffered)
		return in.unpack(&file{Reader: buffered})
	}
	raw, err := os.Open(in.path)
	if err != nil {
		return nil, plainPath(err)
	}
	return in.unpack(&file{Reader: raw, plain: raw, closes: []func() error{raw.Close}})
}

// interruptible returns what a reader has until the context ends: a terminal or
// pipe may have nothing for as long as it likes.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	// Closing a pipe cannot fail.
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, err := io.Copy(in, r)
		_ = in.CloseWithError(err)
	}()
	return out
}

// packing tells by its first bytes how a text is packed that has no name to say
// so.
func packing(r *bufio.Reader) string {
	begin, _ := r.Peek(4) // what cannot be read now cannot be read then
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		return "gz"
	case bytes.Equal(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "zst"
	}
	return ""
}

// unpack puts what unpacks a file on top of it.
func (in *input) unpack(f *file) (*file, error) {
	raw := f.Reader
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
