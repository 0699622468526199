package outbox

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// load reads the folder at Open. It returns the highest number of a segment in the folder or in the
// file CURSOR.
func (b *Outbox) load() (last uint64, err error) {
	names, err := b.opts.Disk.List(b.opts.Dir)
	if err != nil {
		return 0, fmt.Errorf("list outbox: %w", err)
	}
	cursor := b.cursor.readNewest(func(file string, bytes int64) {
		b.stats.DamagedBytes += bytes
		b.opts.Events.Damaged(file, 0, bytes)
	})
	for n := range cursor {
		last = max(last, n.number)
	}
	var numbers []uint64
	for _, file := range names {
		if n, ok := parseFileName(file); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		last = max(last, n)
		s, err := b.loadSegment(n)
		if err != nil {
			return 0, err
		}
		s.confirmed = progress{offset: headerBytes}
		e, ok := cursor[s.name]
		if ok && s.tag != 0 && e.offset <= s.size {
			s.confirmed, s.postponed = e.progress, e.postponed
		}
		if s.confirmed.offset >= s.size && !s.isWaiting() {
			if !b.isWorthKeeping(s) {
				b.removeFile(s)
				continue
			}
			s.kept, s.compared = time.Now().Add(-e.age), e.compared
		}
		b.segments = append(b.segments, s)
		b.stats.Bytes += s.disk
	}
	return last, nil
}

// loadSegment reads the end of a segment, or all of it if a crash interrupted its writing.
func (b *Outbox) loadSegment(number uint64) (s *segment, err error) {
	s = &segment{name: name{number: number}, size: headerBytes, ended: true}
	f, err := b.opts.Disk.Open(b.path(number))
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if s.disk, err = f.Size(); err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	head := make([]byte, headerBytes)
	fill(f, head, 0)
	if n, ok := parseHeader(head); ok && n.number == number {
		s.tag = n.tag
	} else if s.disk > headerBytes {
		b.damaged(s, 0, headerBytes)
	}
	if s.readEnd(f) {
		return s, nil
	}
	b.scan(f, s)
	return s, nil
}

// readEnd reads the end frame of a segment. It returns false if the segment has no valid end frame.
func (s *segment) readEnd(f File) bool {
	if s.disk < headerBytes+endBytes {
		return false
	}
	text := make([]byte, endBytes)
	fill(f, text, s.disk-endBytes)
	last, ok := s.parse(text)
	if !ok {
		return false
	}
	readings, at, ok := last.end()
	if !ok || at != s.disk-endBytes {
		return false
	}
	s.size, s.durable, s.readings = at, at, readings
	return true
}

// scan finds the last valid frame of a segment, and counts the readings of all valid frames.
func (b *Outbox) scan(f File, s *segment) {
	var buf []byte
	at := int64(headerBytes)
	for at < s.disk {
		fr, next, ok := s.readFrame(f, at, &buf)
		if !ok {
			if next, ok = s.nextFrame(f, at+1, s.disk); !ok {
				break
			}
			at = next
			continue
		}
		if r, ok := fr.record(); ok {
			s.readings += int64(r.Readings)
			s.size = next
		}
		s.durable = max(s.durable, fr.synced)
		at = next
	}
	if torn := s.disk - s.size; torn > 0 && s.disk > headerBytes {
		b.opts.Events.Torn(fileName(s.number), s.size, torn)
	}
}

// readFrame reads the frame at an offset, and returns the offset after it.
func (s *segment) readFrame(f File, at int64, buf *[]byte) (fr frame, next int64, ok bool) {
	*buf = slices.Grow((*buf)[:0], frameBytes)[:frameBytes]
	fill(f, *buf, at)
	size := claimed(*buf)
	if size == 0 || at+int64(size) > s.disk {
		return fr, 0, false
	}
	*buf = slices.Grow((*buf)[:0], size)[:size]
	fill(f, *buf, at)
	fr, ok = s.parse(*buf)
	return fr, at + int64(size), ok
}

// searchBytes is the number of bytes that nextFrame reads at a time.
const searchBytes = 32 << 10

// nextFrame returns the offset of the first valid frame in a range, or the end of the range.
func (s *segment) nextFrame(f File, from, to int64) (at int64, ok bool) {
	var buf []byte
	window := make([]byte, searchBytes)
	for base := from; base+frameBytes <= to; base += searchBytes - frameBytes + 1 {
		w := window[:min(searchBytes, to-base)]
		fill(f, w, base)
		for i := 0; i+frameBytes <= len(w); i++ {
			if claimed(w[i:]) == 0 {
				continue
			}
			if _, _, ok := s.readFrame(f, base+int64(i), &buf); ok {
				return base + int64(i), true
			}
		}
	}
	return to, false
}

// retryBytes is the size of the parts of a file that are read one by one after a failed read.
const retryBytes = 4 << 10

// fill reads bytes of a file. Bytes that cannot be read become zeros, so that their frames are
// invalid.
func fill(f File, buf []byte, at int64) {
	if n, err := f.ReadAt(buf, at); err == nil || errors.Is(err, io.EOF) {
		clear(buf[n:])
		return
	}
	for len(buf) > 0 {
		part := buf[:min(retryBytes, len(buf))]
		if n, err := f.ReadAt(part, at); err != nil {
			clear(part[n:])
		}
		buf, at = buf[len(part):], at+int64(len(part))
	}
}

func (b *Outbox) damaged(s *segment, from, to int64) {
	b.mu.Lock()
	b.stats.DamagedBytes += to - from
	b.mu.Unlock()
	b.opts.Events.Damaged(fileName(s.number), from, to)
}
