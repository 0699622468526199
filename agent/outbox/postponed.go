package outbox

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
)

// Postponed has the postponed records of an outbox: records that Next has passed over, and which are not
// confirmed.
type Postponed struct{ *Outbox }

// postponedRange is a range [from, to) of offsets in a segment's file, with postponed records of one
// stream. All records of the stream in the range count as postponed, even confirmed ones: see mostRanges.
type postponedRange struct {
	stream   string
	from, to int64
	readings int64
	moved    bool // copies of the records are later in the outbox
}

// mostRanges is the number of ranges of a segment above which ranges of the same stream are united. A united
// range may include confirmed records, which are resent and become duplicates.
const mostRanges = 64

// Postponed returns the postponed records of the outbox.
func (b *Outbox) Postponed() Postponed { return Postponed{b} }

// Streams returns the streams with postponed records.
func (b Postponed) Streams() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := map[string]bool{}
	for _, s := range b.segments {
		for _, r := range s.postponed {
			if !r.moved && !known[r.stream] {
				known[r.stream] = true
				list = append(list, r.stream)
			}
		}
	}
	return list
}

// Next returns postponed records of a stream, up to about the given bytes and readings. It returns nil if the
// stream has none. The argument "turn" selects one of the ranges of the stream, so that a range that cannot be
// confirmed does not delay the others. Only the goroutine that calls Outbox.Next may call it.
func (b Postponed) Next(stream string, turn, bytes, readings int) (*Batch, error) {
	for {
		s, r := b.selectRange(stream, turn)
		if s == nil {
			return nil, nil
		}
		if batch, err := b.readPostponed(s, r, bytes, readings); batch != nil || err != nil {
			return batch, err
		}
	}
}

// selectRange returns a range of a stream, and its segment. The segment is nil if the stream has none.
func (b Postponed) selectRange(stream string, turn int) (s *segment, r postponedRange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return nil, r
	}
	var segments []*segment
	var ranges []postponedRange
	for _, s := range b.segments {
		for _, r := range s.postponed {
			if !r.moved && r.stream == stream {
				segments, ranges = append(segments, s), append(ranges, r)
			}
		}
	}
	if len(ranges) == 0 {
		return nil, r
	}
	return segments[turn%len(ranges)], ranges[turn%len(ranges)]
}

// readPostponed reads records of a range. If the range began with damage or with records of other
// streams, it removes that part of the range and returns nil.
func (b Postponed) readPostponed(s *segment, r postponedRange, bytes, readings int) (batch *Batch, err error) {
	f, err := b.opts.Disk.Open(b.path(s.number))
	if errors.Is(err, fs.ErrNotExist) {
		b.damaged(s, r.from, r.to)
		b.advance(s, r, r.to)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if batch = b.readBatch(f, s, r.from, r.to, bytes, maxPayload); batch == nil {
		next, _ := s.nextFrame(f, r.from+1, r.to)
		b.damaged(s, r.from, next)
		b.advance(s, r, next)
		return nil, nil
	}
	if batch.selectStream(r.stream, readings); len(batch.Records) == 0 {
		b.advance(s, r, batch.to)
		return nil, nil
	}
	return batch, nil
}

// selectStream removes the records of other streams, and records beyond a number of readings.
func (batch *Batch) selectStream(stream string, readings int) {
	kept, total := 0, 0
	for i, r := range batch.Records {
		if r.Stream != stream {
			continue
		}
		if kept > 0 && total+r.Readings > readings {
			batch.to = batch.starts[i]
			break
		}
		batch.Records[kept], batch.starts[kept] = r, batch.starts[i]
		kept++
		total += r.Readings
	}
	batch.Records, batch.starts, batch.Readings = batch.Records[:kept], batch.starts[:kept], total
}

// advance removes the part of a range before an offset, because that part has no readable record of the stream.
func (b Postponed) advance(s *segment, r postponedRange, to int64) {
	b.mu.Lock()
	if i := s.indexOf(r.stream, r.from); i >= 0 {
		if s.postponed[i].from = to; to >= s.postponed[i].to {
			s.postponed = slices.Delete(s.postponed, i, i+1)
		}
	}
	removed := b.finishSegment(s)
	b.mu.Unlock()
	if removed {
		b.removeFile(s)
	}
}

// Confirm confirms a batch of Next, except the records whose indices are in "waiting". These get ranges of their
// own.
func (b Postponed) Confirm(batch *Batch, waiting []int) error {
	b.mu.Lock()
	s := batch.segment
	if i := s.indexOf(batch.Records[0].Stream, batch.from); i >= 0 {
		r := s.postponed[i]
		parts, readings := batch.ranges(waiting)
		left := max(0, r.readings-int64(batch.Readings)) // a united range has confirmed records, too
		if batch.to >= r.to {
			left = 0
		}
		s.confirmed.readings += r.readings - left - readings
		if r.from, r.readings = batch.to, left; r.from < r.to {
			parts = append(parts, r)
		}
		s.postponed = slices.Replace(s.postponed, i, i+1, parts...)
		s.uniteRanges()
	}
	return b.finishConfirm(s)
}

// ranges returns ranges for the records whose indices are in "waiting", and the number of their readings.
func (batch *Batch) ranges(waiting []int) (list []postponedRange, readings int64) {
	open := map[string]int{} // index of the range to which the next record of a stream is added, or -1
	for i := range batch.Records {
		r := &batch.Records[i]
		at, known := open[r.Stream]
		if !slices.Contains(waiting, i) {
			open[r.Stream] = -1
			continue
		}
		if !known || at < 0 {
			from := batch.starts[i]
			if !known {
				from = batch.from
			}
			at = len(list)
			open[r.Stream], list = at, append(list, postponedRange{stream: r.Stream, from: from})
		}
		list[at].to = batch.end(i)
		list[at].readings += int64(r.Readings)
		readings += int64(r.Readings)
	}
	for _, at := range open {
		if at >= 0 {
			list[at].to = batch.to
		}
	}
	return list, readings
}

// end returns the offset after a record.
func (batch *Batch) end(i int) int64 {
	if i+1 < len(batch.starts) {
		return batch.starts[i+1]
	}
	return batch.to
}

// postpone adds ranges for the records of a batch whose indices are in "waiting", and returns the number of
// their readings. So that a stream has few ranges, a range that ends where the batch begins is extended.
// The exception is a range of a stream whose first record in the batch is confirmed.
func (s *segment) postpone(batch *Batch, waiting []int) (readings int64) {
	list, readings := batch.ranges(waiting)
	for i := range s.postponed {
		r := &s.postponed[i]
		if r.to != batch.from || r.moved {
			continue
		}
		if at := slices.IndexFunc(list, func(n postponedRange) bool { return n.stream == r.stream && n.from == r.to }); at >= 0 {
			r.to, r.readings = list[at].to, r.readings+list[at].readings
			list = slices.Delete(list, at, at+1)
		} else if !slices.ContainsFunc(batch.Records, func(n Record) bool { return n.Stream == r.stream }) {
			r.to = batch.to
		}
	}
	s.postponed = append(s.postponed, list...)
	s.uniteRanges()
	return readings
}

// uniteRanges unites consecutive ranges of a stream while the segment has too many ranges.
func (s *segment) uniteRanges() {
	for len(s.postponed) > mostRanges {
		first, second := s.closestRanges()
		if second == 0 {
			return
		}
		r, next := &s.postponed[first], s.postponed[second]
		r.to = next.to
		r.readings += next.readings
		s.postponed = slices.Delete(s.postponed, second, second+1)
	}
}

// closestRanges returns the indices of the two consecutive ranges of a stream that have the shortest union,
// or zeros. So a record that was split from many others is not united with them immediately. Moved ranges
// are united only without a gap, because the records in the gap are compared.
func (s *segment) closestRanges() (first, second int) {
	shortest := int64(math.MaxInt64)
	previous := map[string]int{} // index of the previous range of each stream
	for i, next := range s.postponed {
		at, known := previous[next.stream]
		if previous[next.stream] = i; !known {
			continue
		}
		r := s.postponed[at]
		union := next.to - r.from
		if r.moved && r.to == next.from {
			union = 0
		}
		if r.moved == next.moved && (!r.moved || r.to == next.from) && union < shortest {
			first, second, shortest = at, i, union
		}
	}
	return first, second
}

// indexOf returns the index of the range of a stream that begins at an offset and was not moved, or -1.
func (s *segment) indexOf(stream string, from int64) int {
	return slices.IndexFunc(s.postponed, func(r postponedRange) bool { return !r.moved && r.stream == stream && r.from == from })
}

// waiting returns the number of postponed readings that were not moved.
func (s *segment) waiting() (readings int64) {
	for _, r := range s.postponed {
		if !r.moved {
			readings += r.readings
		}
	}
	return readings
}

// isWaiting reports whether the segment has postponed records that were not moved.
func (s *segment) isWaiting() bool {
	return slices.ContainsFunc(s.postponed, func(r postponedRange) bool { return !r.moved })
}
