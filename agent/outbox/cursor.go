package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"syscall"
	"time"
)

const (
	cursorFile  = "CURSOR"
	cursorMagic = "varve-c2"
	entryBytes  = 6 * 8
)

// progress is how far a segment is confirmed.
type progress struct{ offset, readings int64 }

// entry is the part of the file CURSOR about one segment.
type entry struct {
	progress

	age      time.Duration // how long the segment has been kept
	compared bool
}

// encodeCursor returns the content of the file CURSOR.
func encodeCursor(segments []*segment) []byte {
	dst := append([]byte(nil), cursorMagic...)
	now := time.Now()
	for _, s := range segments {
		if s.confirmed.readings == 0 && s.confirmed.offset <= headerBytes {
			continue
		}
		dst = binary.LittleEndian.AppendUint64(dst, s.number)
		dst = binary.LittleEndian.AppendUint64(dst, s.tag)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.confirmed.offset))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.confirmed.readings))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.age(now)))
		compared := uint64(0)
		if s.compared {
			compared = 1
		}
		dst = binary.LittleEndian.AppendUint64(dst, compared)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

// parseCursor returns the content of a file CURSOR, or false if the file is invalid.
func parseCursor(data []byte) (map[name]entry, bool) {
	n := len(data) - len(cursorMagic) - 4
	if n < 0 || n%entryBytes != 0 || string(data[:len(cursorMagic)]) != cursorMagic {
		return nil, false
	}
	end := len(data) - 4
	if crc32.Checksum(data[:end], castagnoli) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, false
	}
	all := map[name]entry{}
	for at := len(cursorMagic); at < end; at += entryBytes {
		of := func(i int) uint64 { return binary.LittleEndian.Uint64(data[at+8*i:]) }
		all[name{of(0), of(1)}] = entry{progress{int64(of(2)), int64(of(3))}, time.Duration(of(4)), of(5) != 0}
	}
	return all, true
}

// readCursor reads the file CURSOR. It returns an empty cursor if the file is missing or invalid.
func (b *Outbox) readCursor() map[name]entry {
	f, err := b.opts.Disk.Open(path.Join(b.opts.Dir, cursorFile))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // the file was only read
	size, err := f.Size()
	if err != nil || size > 64<<20 {
		return nil
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		return nil
	}
	all, _ := parseCursor(data)
	return all
}

// SaveCursor writes the file CURSOR, so that a restart does not reset the age of kept segments.
func (b *Outbox) SaveCursor() error {
	b.mu.Lock()
	b.saved = time.Now()
	cursor := encodeCursor(b.segments)
	b.mu.Unlock()
	return b.writeCursor(cursor)
}

// writeCursor replaces the file CURSOR. If the disk is full, it removes kept segments.
func (b *Outbox) writeCursor(data []byte) error {
	b.cursor.Lock()
	defer b.cursor.Unlock()
	for {
		err := b.replaceCursor(data)
		if !errors.Is(err, syscall.ENOSPC) || !b.Kept().evictOldest() {
			return err
		}
	}
}

// replaceCursor replaces the file CURSOR. The caller holds b.cursor.
func (b *Outbox) replaceCursor(data []byte) error {
	name := path.Join(b.opts.Dir, cursorFile)
	f, err := b.opts.Disk.Create(name + ".new")
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = b.opts.Disk.Rename(name+".new", name)
	}
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	return nil
}
