package outbox

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"
)

// keepParts is the number of comparisons within Options.Keep: see Interval.
const keepParts = 8

// Kept has the kept segments of an outbox.
type Kept struct{ *Outbox }

// KeptSegment is a segment whose records are all confirmed. It stays for a comparison with the server,
// and then for the next one. So the readings of an hour can be compared together.
//
// A kept segment is removed as soon as its space is needed.
type KeptSegment struct {
	Readings int64
	// Age is the time since the segment ended or its last record was confirmed, whichever was later. It
	// does not depend on the wall clock, and excludes times in which the outbox was closed.
	Age      time.Duration
	Compared bool // whether FinishComparison has been called for the segment

	segment *segment
}

// Kept returns the kept segments of the outbox.
func (b *Outbox) Kept() Kept { return Kept{b} }

// Duration returns Options.Keep.
func (b Kept) Duration() time.Duration { return b.opts.Keep }

// Interval returns the time between two comparisons. A segment receives records for at most this time.
func (b Kept) Interval() time.Duration { return max(b.opts.Keep/keepParts, time.Millisecond) }

// Segments returns the kept segments in the order of Append.
func (b Kept) Segments() (list []KeptSegment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, s := range b.segments {
		if !s.kept.IsZero() {
			list = append(list, KeptSegment{Readings: s.toCompare(), Age: s.age(now), Compared: s.compared, segment: s})
		}
	}
	return list
}

// ReadSegment returns the records of a kept segment, in batches of up to about the given bytes and
// readings. It skips damage. It also skips moved records, because they are not confirmed. It ends early if
// the segment is removed meanwhile. Only the goroutine that calls Next may use the iterator.
func (b Kept) ReadSegment(k KeptSegment, bytes, readings int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		s, to := k.segment, k.segment.confirmed.offset // constant, because the segment is kept
		for at := int64(headerBytes); at < to; {
			batch, next, err := b.readRange(s, at, to, bytes, readings)
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
			if (batch != nil || err != nil) && !yield(batch, err) || err != nil {
				return
			}
			at = next
		}
	}
}

// readRange reads the records at an offset, and returns the offset after them. The batch is nil if the
// range began with damage, which is skipped. The file is closed after each batch, so that the segment can
// be removed on every operating system.
func (b Kept) readRange(s *segment, from, to int64, bytes, readings int) (batch *Batch, next int64, err error) {
	f, err := b.opts.Disk.Open(b.path(s.number))
	if err != nil {
		return nil, from, fmt.Errorf("read outbox: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if batch = b.readBatch(f, s, from, to, bytes, readings); batch != nil {
		batch.removeMoved()
		return batch, batch.to, nil
	}
	next, _ = s.nextFrame(f, from+1, to)
	return nil, next, nil
}

// FinishComparison records that kept segments were compared with the server. It removes the segments
// of earlier comparisons.
func (b Kept) FinishComparison(compared []KeptSegment) error {
	var earlier []KeptSegment
	for _, k := range b.Segments() {
		if k.Compared {
			earlier = append(earlier, k)
		}
	}
	b.mu.Lock()
	for _, k := range compared {
		k.segment.compared = true
	}
	b.mu.Unlock()
	return b.RemoveSegments(earlier)
}

// RemoveSegments removes kept segments. Readings that were not compared are counted in Stats.Uncompared.
func (b Kept) RemoveSegments(list []KeptSegment) error {
	for _, k := range list {
		b.mu.Lock()
		removed := b.removeSegment(k.segment)
		b.mu.Unlock()
		if removed {
			b.removeFile(k.segment)
		}
	}
	if len(list) > 0 { // otherwise, a power cut could restore a file whose entry is no longer in the cursor
		if err := b.opts.Disk.SyncFolder(b.opts.Dir); err != nil {
			b.opts.Events.Failed(fmt.Errorf("sync outbox: %w", err))
		}
	}
	return b.SaveCursor()
}

// removeSegment removes a kept segment from the list. It returns false if another call has removed the
// segment. The caller holds b.mu, and removes the file afterward.
func (b Kept) removeSegment(s *segment) bool {
	if !slices.Contains(b.segments, s) {
		return false
	}
	b.forget(s)
	if !s.compared {
		b.stats.Uncompared += s.toCompare()
	}
	return true
}

// evictOldest removes the oldest kept segment. It returns false if none is kept.
func (b Kept) evictOldest() bool {
	b.mu.Lock()
	i := slices.IndexFunc(b.segments, func(s *segment) bool { return !s.kept.IsZero() })
	if i < 0 {
		b.mu.Unlock()
		return false
	}
	s := b.segments[i]
	b.removeSegment(s)
	b.mu.Unlock()
	b.removeFile(s)
	return true
}

// bytes returns the size of the kept segments. The caller holds b.mu.
func (b Kept) bytes() (total int64) {
	for _, s := range b.segments {
		if !s.kept.IsZero() {
			total += s.disk
		}
	}
	return total
}

// age returns how long a segment has been kept, or 0 if it is not kept.
func (s *segment) age(now time.Time) time.Duration {
	if s.kept.IsZero() {
		return 0
	}
	return now.Sub(s.kept)
}

// isWorthKeeping reports whether a segment is kept once its records are confirmed.
func (b *Outbox) isWorthKeeping(s *segment) bool { return b.opts.Keep > 0 && s.toCompare() > 0 }

// finishSegment keeps a segment that has ended and whose records are all confirmed, or removes it from the
// list. Any other segment stays unchanged. If finishSegment removed the segment, it returns true, and the
// caller removes the file. The caller holds b.mu.
func (b *Outbox) finishSegment(s *segment) (removed bool) {
	if !s.ended || s.confirmed.offset < s.size || s.isWaiting() || !slices.Contains(b.segments, s) {
		return false
	}
	if !b.isWorthKeeping(s) {
		b.forget(s)
		return true
	}
	if s.kept.IsZero() {
		s.kept = time.Now()
	}
	return false
}
