package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// movePause is the time without moves after a failed one.
const movePause = time.Minute

// Move appends copies of postponed records to the outbox. It does so if at least half of the readings of
// their segment are confirmed. The segment is then kept or removed like others. The copies are unconfirmed
// records of a later segment, which Outbox.Next returns. Move copies nothing if that would displace
// unconfirmed records. It fails only if the context ends or the outbox is closed. Other failures are
// reported, and the first call after movePause repeats the move. Only the goroutine that calls Next may
// call it.
func (b Postponed) Move(ctx context.Context) error {
	if time.Now().Before(b.movesAfter) {
		return nil
	}
	err := b.moveAll(ctx)
	switch {
	case err == nil || errors.Is(err, ErrFull):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrClosed):
		return ErrClosed
	}
	b.movesAfter = time.Now().Add(movePause)
	b.opts.Events.Failed(fmt.Errorf("move postponed records: %w", err))
	return nil
}

func (b Postponed) moveAll(ctx context.Context) error {
	for {
		s, r := b.movable()
		if s == nil {
			return nil
		}
		batch, err := b.readPostponed(s, r, groupBytes/2, maxPayload)
		if err != nil {
			return err
		}
		if batch == nil {
			continue
		}
		if err := b.appendRecords(ctx, batch.Records, s); err != nil {
			return err
		}
		if err := b.finishMove(batch); err != nil {
			return err
		}
	}
}

// movable returns a range that may be moved, and its segment. The segment is nil if no range may be moved.
func (b Postponed) movable() (*segment, postponedRange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.opts.MaxBytes - b.used() + b.Kept().bytes()
	for _, s := range b.segments {
		if !s.isWaiting() || !s.ended || s.confirmed.offset < s.size || 2*s.waiting() > s.readings || s.copyBytes() > free {
			continue
		}
		i := slices.IndexFunc(s.postponed, func(r postponedRange) bool { return !r.moved })
		return s, s.postponed[i]
	}
	return nil, postponedRange{}
}

// copyBytes estimates the bytes for copies of the postponed records, with a segment for them. It doubles
// the share of their readings, because they may be longer than others.
func (s *segment) copyBytes() (bytes int64) {
	for _, r := range s.postponed {
		if !r.moved {
			bytes += r.to - r.from
		}
	}
	share := int64(2 * float64(s.size) * float64(s.waiting()) / float64(max(1, s.readings)))
	return min(bytes, share, s.size) + segmentOverhead
}

// segmentOverhead is the number of bytes of a segment besides its records. It includes a second end
// frame, for the segment before.
const segmentOverhead = headerBytes + 2*endBytes

// reserve returns the bytes that only copies of postponed records may use. So a full outbox has space for the
// copies of a segment.
func (o *Options) reserve() int64 { return min(o.SegmentBytes+segmentOverhead, o.MaxBytes/4) }

// freeReserve returns the part of the reserve that copies do not use. The caller holds b.mu.
func (b Postponed) freeReserve() int64 {
	free := b.opts.reserve()
	for _, s := range b.segments {
		if s.kept.IsZero() {
			free -= s.copies
		}
	}
	return max(0, free)
}

// finishMove records durably that copies of a batch exist. So a power cut leaves at most one more copy of each
// record.
func (b Postponed) finishMove(batch *Batch) error {
	b.mu.Lock()
	s, stream := batch.segment, batch.Records[0].Stream
	if i := s.indexOf(stream, batch.from); i >= 0 {
		rest := s.postponed[i]
		parts := []postponedRange{{stream, batch.from, batch.to, int64(batch.Readings), true}}
		if rest.from, rest.readings = batch.to, max(0, rest.readings-int64(batch.Readings)); rest.from < rest.to {
			parts = append(parts, rest)
		}
		s.postponed = slices.Replace(s.postponed, i, i+1, parts...)
		s.uniteRanges()
	}
	removed := b.finishSegment(s)
	b.mu.Unlock()
	if removed {
		b.removeFile(s)
	}
	if err := b.SaveCursor(); err != nil {
		return err
	}
	if err := b.opts.Disk.SyncFolder(b.opts.Dir); err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	return nil
}

// toCompare returns the number of readings that are compared when the segment is kept.
func (s *segment) toCompare() int64 {
	n := s.readings
	for _, r := range s.postponed {
		if r.moved {
			n -= r.readings
		}
	}
	return max(0, n)
}

func (batch *Batch) removeMoved() {
	kept, total := 0, 0
	for i, record := range batch.Records {
		at := batch.starts[i]
		if slices.ContainsFunc(batch.segment.postponed, func(r postponedRange) bool {
			return r.moved && r.stream == record.Stream && r.from <= at && at < r.to
		}) {
			continue
		}
		batch.Records[kept] = record
		kept++
		total += record.Readings
	}
	batch.Records, batch.Readings = batch.Records[:kept], total
}
