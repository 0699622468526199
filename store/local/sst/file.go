package sst

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// File is one file of Pebble. Only one goroutine may use it at a time.
type File struct {
	src    *source
	reader *sstable.Reader
}

// Open opens a file. Its error matches pebble.IsCorruptionError if the footer or the top level of the
// index is unreadable.
func Open(fs vfs.FS, path string, o *pebble.Options) (*File, error) {
	src, err := openSource(fs, path)
	if err != nil {
		return nil, err
	}
	reader, err := sstable.NewReader(context.Background(), src, o.MakeReaderOptions())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, damage(err)), src.Close())
	}
	src.checks = true
	f := &File{src: src, reader: reader}
	iter, err := f.iter() // reads the top of the index
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the index of %s: %w", path, damage(err)), f.Close())
	}
	return f, iter.Close()
}

// damage marks an error of a file's structure as damage.
func damage(err error) error {
	if err == nil || pebble.IsCorruptionError(err) {
		return err
	}
	return fmt.Errorf("%w: %w", pebble.ErrCorruption, err)
}

// Close closes the file.
func (f *File) Close() error { return f.reader.Close() }

func (f *File) iter() (sstable.Iterator, error) {
	return f.reader.NewPointIter(context.Background(), sstable.IterOptions{
		FilterBlockSizeLimit: sstable.NeverUseFilterBlock,
		ReaderProvider:       sstable.MakeTrivialReaderProvider(f.reader),
		BlobContext:          sstable.AssertNoBlobHandles,
	})
}

// Deletion is a deleted range of keys: Start <= key < End. It affects entries with lower
// sequence numbers.
type Deletion struct {
	Start, End []byte
	Seq        uint64
}

// Deletions returns the ranges of keys that the file deletes.
func (f *File) Deletions() (list []Deletion, err error) {
	iter, err := f.reader.NewRawRangeDelIter(context.Background(), sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil || iter == nil {
		return nil, damage(err)
	}
	defer iter.Close()
	span, err := iter.First()
	for ; err == nil && span != nil; span, err = iter.Next() {
		if len(span.Keys) == 0 {
			continue
		}
		c := span.Clone()
		list = append(list, Deletion{Start: c.Start, End: c.End, Seq: uint64(c.LargestSeqNum())})
	}
	return list, damage(err)
}

// CheckRest returns an error if the file is damaged outside of its entries.
//
// The other parts are the index, the properties and the deletions of ranges.
func (f *File) CheckRest() error {
	if _, err := f.reader.Layout(); err != nil {
		return damage(err)
	}
	if _, err := f.reader.ReadPropertiesBlock(context.Background(), nil); err != nil {
		return damage(err)
	}
	_, err := f.Deletions()
	return err
}

// source is a file on disk that records the offset of the last read. It verifies the blocks of the
// file before Pebble does, because Pebble would search for a flipped bit for about a second per block.
type source struct {
	file   vfs.File
	size   int64
	last   int64 // offset of the last read
	checks bool  // if true, each read is one block, and ReadAt verifies its checksum
}

func openSource(fs vfs.FS, path string) (*source, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &source{file: file, size: info.Size()}, nil
}

var _ objstorage.Readable = (*source)(nil)

// ReadAt implements objstorage.Readable. A read beyond the end of the file counts as damage,
// because only a damaged part of the file refers to such an offset.
func (s *source) ReadAt(_ context.Context, p []byte, off int64) error {
	s.last = off
	if off < 0 || off+int64(len(p)) > s.size {
		return fmt.Errorf("%w: %d bytes at %d of a file of %d", pebble.ErrCorruption, len(p), off, s.size)
	}
	if n, err := s.file.ReadAt(p, off); n < len(p) {
		return fmt.Errorf("%w at %d: %w", pebble.ErrCorruption, off, err)
	}
	if s.checks && !whole(p) {
		return fmt.Errorf("%w: the block at %d does not check", pebble.ErrCorruption, off)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// whole reports whether the checksum of a block is correct. The checksum is rotated and offset
// as in LevelDB.
func whole(block []byte) bool {
	if len(block) < 5 {
		return false
	}
	body := block[:len(block)-4]
	sum := crc32.Checksum(body, castagnoli)
	return bits.RotateLeft32(sum, 17)+0xa282ead8 == binary.LittleEndian.Uint32(block[len(body):])
}

func (s *source) Close() error { return s.file.Close() }
func (s *source) Size() int64  { return s.size }

// NewReadHandle implements objstorage.Readable.
func (s *source) NewReadHandle(objstorage.ReadBeforeSize) objstorage.ReadHandle {
	h := objstorage.MakeNoopReadHandle(s)
	return &h
}
