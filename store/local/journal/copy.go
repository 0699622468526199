package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// CopyTo copies the chain and all durable frames into an existing folder. It waits until the frames
// that were appended before the call are durable. Later frames may be missing from the copy.
//
// Only one goroutine at a time may call CopyTo, and no Prepare, Rotate or Remove may run meanwhile.
func (w *Writer) CopyTo(ctx context.Context, dir string) error {
	if err := w.Sync(ctx); err != nil {
		return err
	}
	c := w.chain
	numbers, err := segments(w.fs, w.dir)
	if err != nil {
		return err
	}
	w.mu.Lock()
	current, synced, length := w.segment.number, w.segment.synced, w.segment.durable
	w.mu.Unlock()
	for _, n := range numbers {
		if n < c.First || n > c.Last {
			continue
		}
		end := int64(-1) // the whole file
		if n == current {
			end = synced
		}
		if err := w.copySegment(dir, n, end, length); err != nil {
			return fmt.Errorf("copy journal segment %d: %w", n, err)
		}
	}
	for range 2 { // writes both files of the chain
		c.Generation++
		if err := c.write(w.fs, dir); err != nil {
			return err
		}
	}
	return nil
}

// copySegment copies a segment. If "end" is not negative, it copies only the bytes before this offset, and
// extends the copy with zeros to the given length. Frames record the length of the file, and a shorter file
// would count as damaged.
func (w *Writer) copySegment(dir string, number uint64, end, length int64) (err error) {
	in, err := w.fs.Open(w.fs.PathJoin(w.dir, fileName(number)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := w.fs.Create(w.fs.PathJoin(dir, fileName(number)), category)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if end < 0 {
		_, err = io.Copy(out, in)
		return err
	}
	if _, err = io.CopyN(out, in, end); err != nil || end >= length {
		return err
	}
	_, err = out.WriteAt(zeros[:1], length-1)
	return err
}
