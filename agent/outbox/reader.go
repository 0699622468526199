package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// Batch is a range of records of one segment. It is valid until the next batch is read.
type Batch struct {
	Records  []Record
	Readings int
	// HasMore reports whether further unconfirmed records existed when the batch was read.
	HasMore bool

	segment  *segment
	from, to int64
	starts   []int64 // offset of each record in the file
}

// Next returns the next unconfirmed records, up to about the given bytes and readings. It waits
// until some exist. Without Confirm, a later call may return the same records again.
func (b *Outbox) Next(ctx context.Context, bytes, readings int) (*Batch, error) {
	for {
		if batch, err := b.TryNext(bytes, readings); err != nil || batch != nil {
			return batch, err
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-b.closed:
			return nil, ErrClosed
		}
	}
}

// TryNext is like Next, but returns nil if no unconfirmed records exist.
func (b *Outbox) TryNext(bytes, readings int) (*Batch, error) {
	for {
		s, from, to, others := b.nextSegment()
		if s == nil {
			return nil, nil
		}
		batch, err := b.read(s, from, to, bytes, readings)
		if err != nil {
			return nil, err
		}
		if batch != nil {
			batch.HasMore = others || batch.to < to
			return batch, nil
		}
	}
}

// nextSegment returns the segment to be read, with the range of its unconfirmed records. The result "others"
// reports whether other segments have unconfirmed records, too.
func (b *Outbox) nextSegment() (s *segment, from, to int64, others bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return nil, 0, 0, false
	}
	for _, other := range b.segments {
		switch {
		case other.confirmed.offset >= other.size:
		case s == nil:
			s = other
		default:
			others = true
			if b.opts.Order == NewestFirst {
				s = other
			}
		}
	}
	if s == nil {
		return nil, 0, 0, false
	}
	return s, s.confirmed.offset, s.size, others
}

// read reads records of a segment. It returns nil if the range changed: damage was skipped, or the
// segment was dropped.
func (b *Outbox) read(s *segment, from, to int64, bytes, readings int) (batch *Batch, err error) {
	f, err := b.opts.Disk.Open(b.path(s.number))
	if errors.Is(err, fs.ErrNotExist) {
		b.skip(s, from, to)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if batch = b.readBatch(f, s, from, to, bytes, readings); batch != nil {
		return batch, nil
	}
	next, _ := s.nextFrame(f, from+1, to)
	b.skip(s, from, next)
	return nil, nil
}

// readBatch reads records of a range. It returns nil if the range begins with an invalid frame.
func (b *Outbox) readBatch(f File, s *segment, from, to int64, bytes, readings int) *Batch {
	size := min(int64(max(bytes, frameBytes)), to-from)
	b.buf = slices.Grow(b.buf[:0], int(size))[:size]
	fill(f, b.buf, from)
	if n := claimed(b.buf); n > len(b.buf) && int64(n) <= to-from { // the first frame is larger than the batch
		b.buf = slices.Grow(b.buf[:0], n)[:n]
		fill(f, b.buf, from)
	}
	batch := &Batch{segment: s, from: from, to: from}
	at := 0
	for at < len(b.buf) && (batch.Readings < readings || len(batch.Records) == 0) {
		fr, ok := s.parse(b.buf[at:])
		if !ok {
			break
		}
		if r, ok := fr.record(); ok {
			if len(batch.Records) > 0 && batch.Readings+r.Readings > readings {
				break
			}
			batch.Records = append(batch.Records, r)
			batch.starts = append(batch.starts, from+int64(at))
			batch.Readings += r.Readings
		}
		at += fr.size
		batch.to = from + int64(at)
	}
	if batch.to == from {
		return nil
	}
	return batch
}

// skip confirms a range of invalid bytes, so that the range is not reread. Bytes that were durable are
// reported as damage, and others as torn.
func (b *Outbox) skip(s *segment, from, to int64) {
	b.mu.Lock()
	present, durable := slices.Contains(b.segments, s), s.durable
	s.confirmed.offset = to
	removed := b.finishSegment(s)
	b.mu.Unlock()
	if !present {
		return // the segment was dropped while it was read
	}
	if from < durable {
		b.damaged(s, from, to)
	} else {
		b.opts.Events.Torn(fileName(s.number), from, to-from)
	}
	if removed {
		b.removeFile(s)
	}
}

// saveEvery is the shortest time from one write of the file CURSOR to the next write after a confirmation.
// If no unconfirmed records remain, the file is written immediately.
const saveEvery = time.Second

// Confirm forgets the records of a batch, or keeps them as Options.Keep requires. If the power fails
// soon after, Next may return them once more.
func (b *Outbox) Confirm(batch *Batch) error { return b.ConfirmExcept(batch, nil) }

// ConfirmExcept confirms a batch, except the records whose indices the argument "waiting" has. It
// postpones these records: Postponed.Next returns them, and Next does not.
func (b *Outbox) ConfirmExcept(batch *Batch, waiting []int) error {
	s := batch.segment
	b.mu.Lock()
	if s.confirmed.offset == batch.from {
		s.confirmed.readings += int64(batch.Readings) - s.postpone(batch, waiting)
		s.confirmed.offset = batch.to
	}
	return b.finishConfirm(s)
}

// finishConfirm keeps or removes a segment whose records are all confirmed, and writes the cursor if that
// is due. The caller holds b.mu, and finishConfirm unlocks it.
func (b *Outbox) finishConfirm(s *segment) error {
	removed := b.finishSegment(s)
	var cursor []byte
	if now := time.Now(); now.Sub(b.saved) >= saveEvery || !slices.ContainsFunc(b.segments, func(s *segment) bool { return s.confirmed.offset < s.size }) {
		b.saved = now
		cursor = encodeCursor(b.segments)
	}
	b.mu.Unlock()
	if removed {
		b.removeFile(s)
	}
	if cursor == nil {
		return nil
	}
	return b.writeCursor(cursor)
}
