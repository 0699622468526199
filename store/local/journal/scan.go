package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func (r *replay) segment(f file) error {
	begun := f.number <= r.begun
	data, err := readAll(r.FS, r.FS.PathJoin(r.Dir, f.name))
	if err != nil {
		return err
	}
	s := scan{replay: r, file: f, data: data, rep: SegmentReport{Number: f.number, File: f.name}}
	s.used = len(bytes.TrimRight(data, "\x00"))
	switch {
	case f.whole && !f.header.id.IsZero() && !r.Store.IsZero() && f.header.id != r.Store:
		return r.found(s.problem(0, 0, fmt.Sprintf("is of store %s, not of %s", f.header.id, r.Store)))
	case !f.whole:
		// If the header was never durable, and no frame follows, the creation of the file was interrupted.
		// Then ignore the file.
		if begun || s.lastSynced(0) > 0 {
			if err := s.headerProblem(); err != nil {
				return err
			}
		} else {
			return nil
		}
	}
	if err := s.frames(f.encoding.first); err != nil {
		return err
	}
	if !begun && s.empty() {
		return nil
	}
	r.rep.Segments = append(r.rep.Segments, s.rep)
	return s.conclude()
}

type scan struct {
	*replay
	file   file
	data   []byte
	used   int // length of data without trailing zeros
	rep    SegmentReport
	length int64 // largest length of the file that the header or a frame records
	ended  bool  // whether the end frame was read
	torn   int   // number of torn ends
}

func (s *scan) problem(from, to int64, text string) Problem {
	return Problem{Segment: s.file.number, File: s.file.name, From: from, To: to, Text: text}
}

func (s *scan) headerProblem() error {
	if s.used == 0 {
		return s.found(s.problem(0, 0, "is empty"))
	}
	return s.found(s.problem(0, int64(s.file.encoding.first), "the header does not check"))
}

// frames passes the frames at and after an offset to the function that the caller gave to Replay. It skips
// frames that may belong to an interrupted write. With Salvage, it also skips damaged frames.
func (s *scan) frames(at int) error {
	s.length = s.file.header.length
	synced := int64(-1) // durable bytes that a later frame records; -1 before the search for this frame
	for at < len(s.data) && !s.ended {
		f, ok := s.file.encoding.parse(s.data[at:])
		if ok {
			at += f.size
			s.length = max(s.length, f.length)
			if err := s.pass(f); err != nil {
				return err
			}
			continue
		}
		if at >= s.used {
			return nil // only zeros follow: the space for further frames
		}
		if synced < 0 {
			synced = s.lastSynced(at)
		}
		next := s.nextFrame(at + 1)
		if synced > int64(at) {
			if err := s.found(s.problem(int64(at), int64(next), "a frame does not check, and was durable")); err != nil {
				return err
			}
		} else {
			s.tear(at, next)
		}
		at = next
	}
	return nil
}

func (s *scan) pass(f Frame) error {
	switch f.Kind {
	case Readings:
		s.rep.Readings++
	case Batch:
		s.rep.Batches++
	case end:
		s.ended = true
		s.rep.Bytes += int64(f.size)
		return nil
	default:
		return fmt.Errorf("journal segment %s has a frame of unknown kind %d: a newer program wrote it", s.file.name, f.Kind)
	}
	s.rep.Bytes += int64(f.size)
	return s.do(f)
}

// tear records bytes of a possibly interrupted write.
func (s *scan) tear(from, to int) {
	if from >= to {
		return
	}
	t := Torn{Segment: s.file.number, File: s.file.name, At: int64(from), Bytes: int64(to - from)}
	for at := from; at < to; t.Frames++ {
		size := s.file.encoding.claimed(s.data[at:])
		if size == 0 || at+size > to+trimmed || allZero(s.data[at:at+s.file.encoding.frame]) {
			break
		}
		at += size
	}
	s.torn++
	s.replay.rep.Torn = append(s.replay.rep.Torn, t)
}

// trimmed is the largest number of zeros at the end of a payload that may be counted as unused
// bytes. A frame that ends at most this far after the used bytes still counts as whole.
const trimmed = 16

func allZero(data []byte) bool { return len(bytes.TrimLeft(data, "\x00")) == 0 }

// empty reports whether the scan found no intact frame and no torn end.
func (s *scan) empty() bool {
	return s.rep.Readings+s.rep.Batches+s.torn == 0 && !s.ended
}

// conclude compares the segment with the recorded lengths, and checks the end of the previous
// segment.
func (s *scan) conclude() error {
	r := s.replay
	if !s.empty() {
		// A segment is written only after the previous one is durable. So if the previous one has lost
		// its end, it is damaged.
		if r.tail != nil {
			if err := r.found(*r.tail); err != nil {
				return err
			}
		}
		r.tail = nil
	}
	if have := int64(len(s.data)); have < s.length {
		return r.found(s.problem(have, s.length, "the file is cut off"))
	}
	if !s.ended && s.file.encoding.frame == frameBytes && r.tail == nil {
		p := s.problem(s.rep.Bytes+headerBytes, int64(len(s.data)), "the end is lost: a later segment was written")
		r.tail = &p
	} else if s.torn > 0 { // also in format 1, which has no end frames
		p := s.problem(s.replay.rep.Torn[len(s.replay.rep.Torn)-1].At, int64(s.used), "the end is lost: a later segment was written")
		r.tail = &p
	}
	return nil
}

// nextFrame returns the offset of the first intact frame at or after an offset, or the end of the used
// bytes.
func (s *scan) nextFrame(at int) int {
	for ; at+s.file.encoding.frame <= s.used; at++ {
		if s.mayBegin(at) {
			if _, ok := s.file.encoding.parse(s.data[at:]); ok {
				return at
			}
		}
	}
	return s.used
}

// mayBegin reports whether a frame may begin at an offset. It computes no checksum, and excludes most
// offsets.
func (s *scan) mayBegin(at int) bool {
	synced := binary.LittleEndian.Uint64(s.data[at+8:])
	return synced >= uint64(s.file.encoding.first) && synced <= uint64(at)
}

// lastSynced searches for frames after an offset. It returns the number of durable bytes that the
// last of these frames records, or 0 if none exists.
func (s *scan) lastSynced(at int) (synced int64) {
	for at = s.nextFrame(at + 1); at < s.used; at = s.nextFrame(at) {
		f, ok := s.file.encoding.parse(s.data[at:])
		if !ok {
			break
		}
		synced = f.synced
		at += f.size
	}
	return synced
}

func readAll(fs vfs.FS, name string) (data []byte, err error) {
	f, err := fs.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}

// readStart returns the first n bytes of a file, or fewer.
func readStart(fs vfs.FS, name string, n int64) (data []byte, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, n))
}
