package sst

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// Entry is the entry of a file for one key. Its slices are valid until the next entry is read.
type Entry struct {
	Key      []byte
	Seq      uint64
	HasValue bool // true for a value, false for a deletion
	Value    []byte
}

// Hole is a range of keys that a file may have lost.
//
// It is strictly between two readable keys. A nil key means the beginning or the end of the
// file.
type Hole struct {
	After, Before []byte
	Err           error // the error that made these keys unreadable
}

// Scan returns the entries of a file in order, and skips damaged data blocks.
type Scan struct {
	file *File
	iter sstable.Iterator
	from []byte
	seq  uint64 // sequence number of all entries; 0 means that each has its own

	begun bool
	last  []byte // key of the last entry; may be nil
	open  *Hole  // a hole that ends with the next entry
	holes []Hole
	entry Entry
}

// Scan begins to read the file at the key "from", or at the beginning if "from" is nil. If seq is not
// 0, it is the sequence number of all entries, as in an ingested file.
func (f *File) Scan(from []byte, seq uint64) (*Scan, error) {
	iter, err := f.iter()
	if err != nil {
		return nil, damage(err)
	}
	return &Scan{file: f, iter: iter, from: slices.Clone(from), seq: seq}, nil
}

// Extent is the result of scanning a whole file.
type Extent struct {
	First, Last []byte // the first and last readable key; nil if none is readable
	Holes       []Hole
}

// Extent scans the whole file, and returns its first key, its last key and its holes.
func (f *File) Extent() (x Extent, err error) {
	s, err := f.Scan(nil, 0)
	if err != nil {
		return x, err
	}
	for {
		ok, err := s.Next()
		if err != nil || !ok {
			x.Last, x.Holes = slices.Clone(s.last), s.holes
			return x, errors.Join(err, s.Close())
		}
		if x.First == nil {
			x.First = slices.Clone(s.entry.Key)
		}
	}
}

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.src.size }

// Close ends the scan. It ignores damage that was skipped already.
func (s *Scan) Close() error {
	if err := s.iter.Close(); err != nil && !pebble.IsCorruptionError(damage(err)) {
		return err
	}
	return nil
}

// Holes returns the skipped ranges so far.
func (s *Scan) Holes() []Hole { return s.holes }

// Next moves to the next entry. It returns false at the end.
func (s *Scan) Next() (bool, error) {
	ok, err := s.nextEntry()
	for !ok && err == nil {
		bad := s.iter.Error()
		if bad == nil {
			s.closeHole(nil)
			return false, nil
		}
		ok, err = s.skip(bad)
	}
	return ok, err
}

// Entry returns the current entry.
func (s *Scan) Entry() *Entry { return &s.entry }

func (s *Scan) nextEntry() (bool, error) {
	if s.begun {
		if kv := s.iter.Next(); kv != nil {
			return s.found(kv.K, kv.Value)
		}
		return false, nil
	}
	s.begun = true
	if s.from != nil {
		return s.seek(s.from)
	}
	if kv := s.iter.First(); kv != nil {
		return s.found(kv.K, kv.Value)
	}
	return false, nil
}

func (s *Scan) seek(key []byte) (bool, error) {
	if kv := s.iter.SeekGE(key, 0); kv != nil {
		return s.found(kv.K, kv.Value)
	}
	return false, nil
}

// found sets the current entry. If the value of an entry is unreadable, found begins a hole and
// continues with the next entry.
func (s *Scan) found(key pebble.InternalKey, value func([]byte) ([]byte, bool, error)) (bool, error) {
	data, _, err := value(nil)
	if err != nil {
		s.openHole(err)
		if kv := s.iter.Next(); kv != nil {
			return s.found(kv.K, kv.Value)
		}
		return false, nil
	}
	s.entry = Entry{Key: key.UserKey, Seq: uint64(key.SeqNum()), Value: data}
	if s.seq != 0 {
		s.entry.Seq = s.seq
	}
	switch key.Kind() {
	case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
		s.entry.HasValue = true
	case pebble.InternalKeyKindDelete, pebble.InternalKeyKindDeleteSized, pebble.InternalKeyKindSingleDelete:
	default:
		return false, fmt.Errorf("an entry has kind %s, which this store never writes", key.Kind())
	}
	s.last = append(s.last[:0], key.UserKey...)
	s.closeHole(s.last)
	return true, nil
}

func (s *Scan) openHole(err error) {
	if s.open == nil {
		s.open = &Hole{After: slices.Clone(s.last), Err: damage(err)}
	}
}

func (s *Scan) closeHole(before []byte) {
	if s.open != nil {
		s.open.Before = slices.Clone(before)
		s.holes = append(s.holes, *s.open)
		s.open = nil
	}
}

// maxKey limits the length of a searched key. Keys of this store are far shorter.
const maxKey = 1 << 14

// skip continues after the unreadable data block. A seek fails at that block for all keys up to its
// separator in the index. The greatest such key is found byte by byte.
func (s *Scan) skip(err error) (bool, error) {
	s.openHole(err)
	block := s.file.src.last
	low := s.from // start of the scan, or the key after the previous damaged data block
	if bytes.Compare(low, s.last) < 0 {
		low = s.last
	}
	fails := func(key []byte) bool {
		if bytes.Compare(key, low) <= 0 {
			return true
		}
		s.file.src.last = -1
		return s.iter.SeekGE(key, 0) == nil && s.iter.Error() != nil && s.file.src.last == block
	}
	var end []byte
	for len(end) < maxKey {
		// Find the greatest byte with which the seek still fails.
		from, to := 0, 256
		for from < to {
			mid := (from + to) / 2
			if fails(append(end, byte(mid))) {
				from = mid + 1
			} else {
				to = mid
			}
		}
		if from == 0 {
			break
		}
		end = append(end, byte(from-1))
	}
	if len(end) == maxKey {
		return false, fmt.Errorf("the end of a damaged block cannot be found: %w", err)
	}
	s.from = append(end, 0)
	return s.seek(s.from)
}
