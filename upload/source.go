package upload

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/fileerr"
)

// Source is one file of readings, or standard input.
type Source struct {
	Path   string // path as the user wrote it
	Stream string // if empty, each line of line protocol names its stream

	stdin       io.Reader // if set, the source is standard input
	format      wire.Format
	compression compression
	device      string // device of readings without a device
	deviceGiven bool   // the user named the device
	size        int64  // size of the file in bytes; 0 if unknown
	mtime       int64  // time of the last change of the file, in nanoseconds since 1970
	failed      bool   // the file could not be read, and its error is one of the upload's failures
}

// FileError is an error about one source.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string {
	if text := e.Err.Error(); strings.HasPrefix(text, e.Path+": ") {
		return text
	}
	return e.Path + ": " + e.Err.Error()
}

func (e *FileError) Unwrap() error { return e.Err }

// HeaderError reports that a CSV file lacks a required column.
type HeaderError struct {
	Columns []string
	Err     error
}

func (e *HeaderError) Error() string { return e.Err.Error() }

func (e *HeaderError) Unwrap() error { return e.Err }

// deviceParam returns the parameter "device" of the source's pieces. It is "" for a CSV file in which each
// column is a device. For a CSV file with a device column and for line protocol, it is set only if the
// user named a device.
func (s *Source) deviceParam(names []string, c wire.Columns) string {
	if s.format == wire.CSV && c.DeviceColumns != "" {
		return ""
	}
	if !s.deviceGiven && s.format == wire.Line {
		return "" // a tag names the device
	}
	if !s.deviceGiven && s.format == wire.CSV && slices.Contains(names, c.DeviceColumn(names, false)) {
		return ""
	}
	return s.device
}

// checkColumns rejects a CSV file that lacks a required column, even if it has no rows.
func (s *Source) checkColumns(names []string, c wire.Columns, d wire.Defaults) error {
	if s.format != wire.CSV {
		return nil
	}
	c.Names = names
	r, err := wire.NewReader(new(wire.Memory), wire.CSV, strings.NewReader(""), d, c)
	if err != nil {
		return err
	}
	if err = r.Read(new(wire.Batch)); err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return &HeaderError{Columns: names, Err: err}
}

// sizeOnDisk returns the size on disk of a number of plain bytes; 0 means unknown.
func (s *Source) sizeOnDisk(plain int64) int64 {
	if s.compression != "" {
		return 0
	}
	return plain
}

// file is a source that was opened for reading.
type file struct {
	io.Reader           // reader of the plain text
	raw       io.Reader // the file itself, or a section of it; nil for a compressed file or standard input
	closers   []func() error
}

// seekable returns f.raw, in which a splitter can seek. For a compressed file or standard input, it
// returns the reader of the plain text.
func (f *file) seekable() io.Reader {
	if f.raw != nil {
		return f.raw
	}
	return f.Reader
}

func (f *file) Close() error {
	var errs []error
	for _, c := range slices.Backward(f.closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

func (s *Source) open(ctx context.Context) (*file, error) {
	if s.stdin != nil {
		buffered := bufio.NewReader(interruptible(ctx, s.stdin))
		return decompressed(&file{Reader: buffered}, detectCompression(buffered))
	}
	raw, err := os.Open(s.Path)
	if err != nil {
		return nil, fileerr.Short(err)
	}
	return decompressed(&file{Reader: raw, raw: raw, closers: []func() error{raw.Close}}, s.compression)
}

// decompressed adds a decompressor to a file, unless c is "".
func decompressed(f *file, c compression) (*file, error) {
	if c == "" {
		return f, nil
	}
	plain, closePlain, err := c.decompress(f.Reader)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.Reader, f.raw, f.closers = plain, nil, append(f.closers, closePlain)
	return f, nil
}

// interruptible returns a reader that fails when the context ends. A direct read of a terminal or
// a pipe may block forever.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	// The error is ignored, because closing a pipe cannot fail.
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, err := io.Copy(in, r)
		_ = in.CloseWithError(err)
	}()
	return out
}
