package journal

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve/store/local/meta"
)

const suffix = ".journal"

func fileName(number uint64) string { return fmt.Sprintf("%010d%s", number, suffix) }

// segments returns the numbers of the segments in dir, in order. It ignores files with other
// names.
func segments(fs vfs.FS, dir string) ([]uint64, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list journal: %w", err)
	}
	var numbers []uint64
	for _, name := range names {
		n, err := strconv.ParseUint(strings.TrimSuffix(name, suffix), 10, 64)
		if err == nil && fileName(n) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// segment is one file. After createSegment, only writeLoop writes to the file.
type segment struct {
	number   uint64
	encoding encoding
	file     vfs.File
	synced   int64 // durable bytes of header and frames; guarded by Writer.mu
	durable  int64 // durable length of the file; guarded by Writer.mu
	appended int64 // bytes of all appended frames, written or not; guarded by Writer.mu
	length   int64 // length of the file in bytes
	zeroed   int64 // offset up to which zeros were written
}

const (
	// fillBytes is the maximum number of zeros in one write.
	fillBytes = 256 << 10
	// firstBytes is the length of a file before its first frame, and the minimum number of zeros in
	// one write.
	firstBytes = 32 << 10
)

var zeros [fillBytes]byte

// createSegment creates the file of a segment, durably.
func createSegment(fs vfs.FS, dir string, id meta.ID, number uint64) (*segment, error) {
	name := fs.PathJoin(dir, fileName(number))
	f, err := fs.Create(name, category)
	if err != nil {
		return nil, fmt.Errorf("create journal segment: %w", err)
	}
	s := &segment{number: number, encoding: encodingOf(id, number), file: f, synced: headerBytes, durable: firstBytes, zeroed: headerBytes}
	head := header{number: number, id: id, length: firstBytes}.bytes()
	if _, err = f.WriteAt(head, 0); err == nil {
		err = s.extend(firstBytes)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = meta.SyncFolder(fs, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create journal segment %s: %w", name, err), f.Close())
	}
	return s, nil
}

// extend makes the file at least as long as the given length, without writing the bytes in between.
func (s *segment) extend(to int64) error {
	if to <= s.length {
		return nil
	}
	if _, err := s.file.WriteAt(zeros[:1], to-1); err != nil {
		return err
	}
	s.length = to
	return nil
}

// grow makes the file longer than its frames. So most frames record a length beyond their own end,
// which reveals a truncated file.
//
// After small groups it writes zeros, because a sync of overwritten zeros costs half as much as
// a sync of a growing file. The cost of large groups is the writing itself.
func (s *segment) grow(to int64, group int) error {
	if group > fillBytes/8 {
		return s.extend(to + 2*int64(group))
	}
	fill := min(max(to, firstBytes), fillBytes) // number of zeros: the file doubles, within limits
	if to+fill/4 <= s.zeroed {
		return nil
	}
	from := max(to, s.zeroed)
	if _, err := s.file.WriteAt(zeros[:fill], from); err != nil {
		return err
	}
	s.zeroed = from + fill
	s.length = max(s.length, s.zeroed)
	return nil
}

// write writes and syncs a group after the durable bytes. It overwrites the result of an earlier
// attempt.
func (s *segment) write(buf []byte) error {
	if len(buf) == 0 {
		return nil
	}
	if _, err := s.file.WriteAt(buf, s.synced); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	to := s.synced + int64(len(buf))
	s.length = max(s.length, to)
	if err := s.grow(to, len(buf)); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := s.file.SyncData(); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	return nil
}
