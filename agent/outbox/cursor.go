package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"sync"
	"syscall"
	"time"
)

// The file CURSOR has an entry for each segment that is at least partly confirmed. The entry has the
// confirmed offset, the age of a kept segment, and the ranges of postponed records. It names the segment
// by its number and its random tag, so it never applies to another segment with the same number.
// CURSOR.old is used if CURSOR is missing or damaged.
const (
	cursorFile  = "CURSOR"
	olderCursor = "CURSOR.old" // the file CURSOR before its last write
	cursorMagic = "varve-c3"
	// earlierMagic begins a file CURSOR of an earlier version. Its content is the same, without ranges.
	earlierMagic = "varve-c2"
)

// progress is the confirmed part of a segment: its end as an offset in the file, and its number of readings.
type progress struct{ offset, readings int64 }

// entry is the part of the file CURSOR about one segment.
type entry struct {
	progress

	age       time.Duration // how long the segment has been kept
	compared  bool
	postponed []postponedRange
}

func encodeCursor(segments []*segment) []byte {
	dst := append([]byte(nil), cursorMagic...)
	now := time.Now()
	for _, s := range segments {
		if s.confirmed.readings == 0 && s.confirmed.offset <= headerBytes {
			continue
		}
		dst = appendNumbers(dst, s.number, s.tag, uint64(s.confirmed.offset), uint64(s.confirmed.readings), uint64(s.age(now)), bit(s.compared)|uint64(len(s.postponed))<<1)
		for _, r := range s.postponed {
			dst = appendNumbers(dst, uint64(r.from), uint64(r.to), uint64(r.readings), bit(r.moved), uint64(len(r.stream)))
			dst = append(dst, r.stream...)
		}
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

func appendNumbers(dst []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	return dst
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// parseCursor returns the content of a file CURSOR, or false if the file is invalid.
func parseCursor(data []byte) (map[name]entry, bool) {
	end := len(data) - 4
	if end < len(cursorMagic) {
		return nil, false
	}
	if magic := string(data[:len(cursorMagic)]); magic != cursorMagic && magic != earlierMagic {
		return nil, false
	}
	if crc32.Checksum(data[:end], castagnoli) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, false
	}
	all := map[name]entry{}
	for p := (cursorParser{rest: data[len(cursorMagic):end]}); len(p.rest) > 0; {
		n, e := p.entry()
		if p.failed {
			return nil, false
		}
		all[n] = e
	}
	return all, true
}

type cursorParser struct {
	rest   []byte
	failed bool // whether the file ended early
}

func (p *cursorParser) bytes(n uint64) []byte {
	if n > uint64(len(p.rest)) {
		p.failed, p.rest = true, nil
		return nil
	}
	text := p.rest[:n]
	p.rest = p.rest[n:]
	return text
}

func (p *cursorParser) number() uint64 {
	if text := p.bytes(8); text != nil {
		return binary.LittleEndian.Uint64(text)
	}
	return 0
}

func (p *cursorParser) entry() (n name, e entry) {
	n = name{p.number(), p.number()}
	e.progress = progress{int64(p.number()), int64(p.number())}
	e.age = time.Duration(p.number())
	flags := p.number()
	e.compared = flags&1 != 0
	for count := flags >> 1; count > 0 && !p.failed; count-- {
		r := postponedRange{from: int64(p.number()), to: int64(p.number()), readings: int64(p.number()), moved: p.number() != 0}
		r.stream = string(p.bytes(p.number()))
		e.postponed = append(e.postponed, r)
	}
	return n, e
}

type cursorFiles struct {
	disk      Disk
	dir       string
	mu        sync.Mutex // held while CURSOR is written
	isDamaged bool       // whether CURSOR is damaged, so that it must not replace CURSOR.old
}

// readNewest reads CURSOR. If that file is missing or damaged, it reads CURSOR.old, and the records that
// were confirmed after CURSOR.old was written are resent. Without a valid file, it returns nil. It
// reports damaged files.
func (c *cursorFiles) readNewest(report func(file string, bytes int64)) map[name]entry {
	for _, file := range []string{cursorFile, olderCursor} {
		data, err := c.readFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if all, ok := parseCursor(data); ok && err == nil {
			return all
		}
		c.isDamaged = c.isDamaged || file == cursorFile
		report(file, int64(len(data)))
	}
	return nil
}

func (c *cursorFiles) readFile(file string) (data []byte, err error) {
	f, err := c.disk.Open(path.Join(c.dir, file))
	if err != nil {
		return nil, fmt.Errorf("read cursor: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil || size > 64<<20 {
		return nil, errors.Join(errors.New("read cursor: invalid size"), err)
	}
	data = make([]byte, size)
	if n, err := f.ReadAt(data, 0); n < len(data) {
		return data, fmt.Errorf("read cursor: %w", err)
	}
	return data, nil
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
	b.cursor.mu.Lock()
	defer b.cursor.mu.Unlock()
	for {
		err := b.cursor.replace(data)
		if !errors.Is(err, syscall.ENOSPC) || !b.Kept().evictOldest() {
			return err
		}
	}
}

// replace replaces CURSOR. The previous CURSOR becomes CURSOR.old, unless it is damaged. The caller holds c.mu.
func (c *cursorFiles) replace(data []byte) error {
	name := path.Join(c.dir, cursorFile)
	f, err := c.disk.Create(name + ".new")
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && !c.isDamaged {
		if err = c.disk.Rename(name, path.Join(c.dir, olderCursor)); errors.Is(err, fs.ErrNotExist) {
			err = nil // this is the first cursor
		}
	}
	if err == nil {
		err = c.disk.Rename(name+".new", name)
	}
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	c.isDamaged = false
	return nil
}
