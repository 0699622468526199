package query

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// Limits of the number of readings of one read. While the size of a series' readings is unknown, a
// read requests firstReadings. Later reads request about batchBytes, and at most pageReadings. An
// answer with small pages requests about smallBytes, and at most smallReadings.
const (
	firstReadings = 128
	pageReadings  = 2048
)

// Limits of memory. Many answers may wait for slow clients, so at most largeAnswers of them use
// full pages at the same time. All other answers use small pages.
const (
	largeAnswers  = 64
	smallReadings = 256
	smallBytes    = 64 << 10
)

// sizes remembers the approximate size of readings per series. Each series has one entry of the
// array, which another series may overwrite.
type sizes struct {
	seed    maphash.Seed
	entries [1 << 13]atomic.Uint64 // each has the upper bits of a series' hash, then the bit length of the size
}

// sizeBits is the number of bits of an entry for the size.
const sizeBits = 6

func (z *sizes) entry(s varve.Series) (e *atomic.Uint64, tag uint64) {
	hash := maphash.Comparable(z.seed, s)
	return &z.entries[hash%uint64(len(z.entries))], hash >> sizeBits
}

// of returns the approximate size of a reading of a series, or 0 if it is unknown. The result is the
// smallest power of 2 that is larger than the remembered size.
func (z *sizes) of(s varve.Series) int {
	e, tag := z.entry(s)
	v := e.Load()
	if v>>sizeBits != tag {
		return 0
	}
	return 1 << (v & (1<<sizeBits - 1))
}

func (z *sizes) remember(s varve.Series, size int) {
	e, tag := z.entry(s)
	if v := tag<<sizeBits | uint64(bits.Len(uint(size))); e.Load() != v {
		e.Store(v)
	}
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

// partSize returns the approximate size of the readings of a part, as sizeOf does.
func partSize(p *block.Part) (size int) {
	for i := range p.Columns {
		c := &p.Columns[i]
		if len(c.Texts) == 0 && len(c.Slots) == 0 {
			size += fieldBytes * p.Len()
			continue
		}
		for row := p.From; row < p.To; row++ {
			if c.Has(row) {
				size += fieldBytes + len(c.Value(row).Text())
			}
		}
	}
	return size
}

// fitting returns the number of leading readings that together reach a size. If all readings
// together are smaller, it returns their number.
func fitting(readings []varve.Reading, size int) int {
	for i := range readings {
		if size -= sizeOf(&readings[i]); size <= 0 {
			return i + 1
		}
	}
	return len(readings)
}

type buffer struct {
	readings []varve.Reading
	large    bool // the memory grew too large for reuse
}

// set stores the readings of a page with the given size. The buffer is too large for reuse if the page
// is large, or if its readings hold memory for many more fields than they have.
func (b *buffer) set(page []varve.Reading, size int) {
	for i := range page {
		size += fieldBytes * (cap(page[i].Fields) - len(page[i].Fields))
	}
	b.readings, b.large = page, b.large || size > batchBytes
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}
