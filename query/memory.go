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

// Limits of one read. While the size of readings is unknown, a read requests firstReadings. Later
// reads request about batchBytes.
const (
	firstReadings = 128
	pageReadings  = 2048
)

// Limits of memory. Many answers may wait for slow clients, so only some of them use full pages.
// The others hold at most a small page.
const (
	largeAnswers  = 64
	smallReadings = 256
	smallBytes    = 64 << 10
)

// enlarge acquires one of the shares for full pages, if one is free and the answer holds no
// readings.
func (r *Rows) enlarge() {
	if !r.large && !r.holds() {
		r.large = r.e.large.TryAcquire(1)
	}
}

// shrink releases the share for full pages.
func (r *Rows) shrink() {
	if r.large {
		r.e.large.Release(1)
	}
	r.large = false
}

// holds reports whether the answer holds readings that Next has not returned.
func (r *Rows) holds() bool {
	return slices.ContainsFunc(r.sources, func(s *source) bool { return !s.isEmpty() })
}

// room reports whether Next may collect more readings.
func (r *Rows) room() bool {
	readings, size := r.bounds()
	return len(r.out) < min(batch, readings) && r.size < size
}

// bounds returns the maximum number and total size of readings that the answer may hold.
func (r *Rows) bounds() (readings, size int) {
	if r.large {
		return pageReadings, batchBytes
	}
	return smallReadings, smallBytes
}

// sizes remembers the approximate size of readings per series. Each series has one slot, which
// another series may overwrite.
type sizes struct {
	seed  maphash.Seed
	slots [1 << 13]atomic.Uint64 // the upper bits of the series' hash, then the bit length of the size
}

// sizeBits is the number of bits of a slot for the size.
const sizeBits = 6

func (z *sizes) slot(s varve.Series) (slot *atomic.Uint64, tag uint64) {
	hash := maphash.Comparable(z.seed, s)
	return &z.slots[hash%uint64(len(z.slots))], hash >> sizeBits
}

// of returns the recorded size of readings of a series, or 0 if it is unknown.
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

// limit returns the number of readings to request from the store.
func (r *Rows) limit() int {
	size := r.e.sizes.of(r.q.Series)
	if size == 0 {
		return firstReadings
	}
	readings, most := r.bounds()
	return min(max(most/size, 1), readings)
}

// noteSize records the size of readings from a page, and returns the size of the page.
func (r *Rows) noteSize(readings []varve.Reading) (size int) {
	for i := range readings {
		size += sizeOf(&readings[i])
	}
	if len(readings) > 0 {
		r.e.sizes.note(r.q.Series, size/len(readings))
	}
	return size
}

// fieldBytes is the assumed size of a field without its text.
const fieldBytes = 32

// sizeOf returns the approximate size of the fields of a reading.
func sizeOf(r *varve.Reading) int {
	size := fieldBytes * len(r.Fields)
	for i := range r.Fields {
		size += len(r.Fields[i].Value.Text())
	}
	return size
}

// fitting returns the number of readings at which their total size reaches size, or the number of
// all.
func fitting(readings []varve.Reading, size int) int {
	for i := range readings {
		if size -= sizeOf(&readings[i]); size <= 0 {
			return i + 1
		}
	}
	return len(readings)
}

// page reads the next page of a source.
func (r *Rows) page(ctx context.Context, s *source) (store.Cost, error) {
	limit := r.limit()
	if r.left >= 0 {
		limit = min(r.left+1, limit) // one more shows whether further readings exist
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
	page, err := r.readPage(ctx, s, rng)
	if err != nil {
		s.page, s.more = nil, false
		return page.Cost, err
	}
	s.buf.readings, s.page, s.more = page.Readings, page.Readings, page.More
	s.size = r.noteParts(s) + r.noteSize(page.Readings)
	s.buf.large = s.buf.large || s.size > batchBytes
	if n := len(page.Readings); n > 0 {
		s.begun, s.last = true, page.Readings[n-1].Position()
	}
	return page.Cost, nil
}

// buffer is the reusable memory of a page.
type buffer struct {
	readings []varve.Reading
	large    bool // it grew too large to be kept
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// Release releases the memory of the last page of Next, which must not be used afterwards.
// Callers use it before they wait for a slow client.
func (r *Rows) Release() {
	r.out = r.out[:0]
	r.giveBack()
	for _, s := range r.sources {
		if s.isEmpty() && s.buf != nil {
			if !s.buf.large {
				buffers.Put(s.buf)
			}
			s.buf, s.page = nil, nil
		}
	}
}

// giveBack releases the memory of tables without further readings.
func (r *Rows) giveBack() {
	for _, b := range r.ended {
		if !b.large {
			buffers.Put(b)
		}
	}
	r.ended = r.ended[:0]
	r.releaseParts()
}

// Close releases the memory of the rows. The last page of Next must not be used afterwards.
func (r *Rows) Close() {
	for _, s := range r.sources {
		if s.release != nil {
			r.release = append(r.release, s.release)
		}
		if s.buf != nil {
			r.ended = append(r.ended, s.buf)
		}
	}
	r.giveBack()
	r.shrink()
	r.sources, r.opened = nil, len(r.plan.tables)
}
