package query

import (
	"context"
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// How many readings are asked of a store at a time: few at first if nothing is
// known of their size, then as many as are about batchBytes.
const (
	firstReadings = 128
	pageReadings  = 2048
)

// Answers whose clients take them slowly pile up. Only so many at a time have
// pages of full size; each of the others holds no more than a small page.
const (
	largeAnswers  = 64
	smallReadings = 256
	smallBytes    = 64 << 10
)

// enlarge takes one of the engine's large shares, if one is free, for an answer
// that holds no readings.
func (r *Rows) enlarge() {
	if !r.large && !r.holds() {
		r.large = r.e.large.TryAcquire(1)
	}
}

// shrink gives the large share back.
func (r *Rows) shrink() {
	if r.large {
		r.e.large.Release(1)
	}
	r.large = false
}

// holds reports whether readings were read that Next has not returned.
func (r *Rows) holds() bool {
	return slices.ContainsFunc(r.sources, func(s *source) bool { return len(s.page) > 0 })
}

// room reports whether Next may gather more.
func (r *Rows) room() bool {
	readings, size := r.bounds()
	return len(r.out) < min(batch, readings) && r.size < size
}

// bounds returns how many readings the answer may hold, and of what size.
func (r *Rows) bounds() (readings, size int) {
	if r.large {
		return pageReadings, batchBytes
	}
	return smallReadings, smallBytes
}

// sizes remembers about how large the readings of series are, of those that
// were queried of late. Each series has one slot, from which another may push
// it out.
type sizes struct {
	seed  maphash.Seed
	slots [1 << 13]atomic.Uint64 // the upper bits of a series' hash, and the size's length in bits
}

// sizeBits is how many bits of a slot are the size's.
const sizeBits = 6

func (z *sizes) slot(s varve.Series) (slot *atomic.Uint64, tag uint64) {
	hash := maphash.Comparable(z.seed, s)
	return &z.slots[hash%uint64(len(z.slots))], hash >> sizeBits
}

// of returns the size that was noted; 0: it is not known.
func (z *sizes) of(s varve.Series) int {
	slot, tag := z.slot(s)
	v := slot.Load()
	if v>>sizeBits != tag {
		return 0
	}
	return 1 << (v & (1<<sizeBits - 1))
}

func (z *sizes) note(s varve.Series, size int) {
	slot, tag := z.slot(s)
	if v := tag<<sizeBits | uint64(bits.Len(uint(size))); slot.Load() != v {
		slot.Store(v)
	}
}

// limit is how many readings of the query's series are asked for.
func (r *Rows) limit() int {
	size := r.e.sizes.of(r.q.Series)
	if size == 0 {
		return firstReadings
	}
	readings, most := r.bounds()
	return min(max(most/size, 1), readings)
}

// noteSize takes the size of a page into what is known of the series.
func (r *Rows) noteSize(readings []varve.Reading) (size int) {
	for i := range readings {
		size += sizeOf(&readings[i])
	}
	if len(readings) > 0 {
		r.e.sizes.note(r.q.Series, size/len(readings))
	}
	return size
}

// fieldBytes is what a field counts beside its text.
const fieldBytes = 32

// sizeOf is about how large a reading is, without what every reading takes.
func sizeOf(r *varve.Reading) int {
	size := fieldBytes * len(r.Fields)
	for i := range r.Fields {
		size += len(r.Fields[i].Value.Text())
	}
	return size
}

// fitting returns how many of the readings, at least one, are of a size
// together.
func fitting(readings []varve.Reading, size int) int {
	for i := range readings {
		if size -= sizeOf(&readings[i]); size <= 0 {
			return i + 1
		}
	}
	return len(readings)
}

// page reads a source's next page.
func (r *Rows) page(ctx context.Context, s *source) (store.Cost, error) {
	limit := r.limit()
	if r.left >= 0 {
		limit = min(r.left+1, limit) // one more tells whether there is more
	}
	after := r.q.After
	if s.begun {
		after = &s.last
	}
	if s.buf == nil {
		s.buf = buffers.Get().(*buffer)
	}
	rng := r.q.rangeOf(s.Table, r.plan.layout, after, limit)
	rng.Damaged = r.damage.collect(r.q.SkipDamaged)
	page, err := r.e.opts.Reader.Read(ctx, rng, s.buf.readings[:0])
	if err != nil {
		s.page, s.more = nil, false
		return page.Cost, err
	}
	s.buf.readings, s.page, s.more = page.Readings, page.Readings, page.More
	s.size = r.noteSize(page.Readings)
	s.buf.large = s.buf.large || s.size > batchBytes
	if n := len(page.Readings); n > 0 {
		s.begun, s.last = true, page.Readings[n-1].Position()
	}
	return page.Cost, nil
}

// buffer is the memory of a page, used again and again.
type buffer struct {
	readings []varve.Reading
	large    bool // it has held so much that it is not to be kept
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// Release gives back the memory of what Next returned, which must not be used
// any more. It is for those who wait before they call Next again.
func (r *Rows) Release() {
	r.out = r.out[:0]
	r.giveBack()
	for _, s := range r.sources {
		if len(s.page) == 0 && s.buf != nil {
			if !s.buf.large {
				buffers.Put(s.buf)
			}
			s.buf, s.page = nil, nil
		}
	}
}

// giveBack gives back the memory of tables that were read to their end.
func (r *Rows) giveBack() {
	for _, b := range r.ended {
		if !b.large {
			buffers.Put(b)
		}
	}
	r.ended = r.ended[:0]
}

// Close gives back the memory of the rows; what Next returned must not be used
// any more.
func (r *Rows) Close() {
	for _, s := range r.sources {
		if s.buf != nil {
			r.ended = append(r.ended, s.buf)
		}
	}
	r.giveBack()
	r.shrink()
	r.sources, r.opened = nil, len(r.plan.tables)
}
