package memtable

import (
	"math/bits"

	"github.com/varvedb/varve"
)

// bodies is an append-only sequence of bytes in pages. Bytes that were appended never move, so
// a copy of a bodies value can be read without the lock.
type bodies struct {
	pages [][]byte
	used  int // number of used bytes of the last page
	// firstBits is the binary logarithm of the size of the first page. Page sizes double after every
	// fourth page, up to the size that pageBits permits. So at most about a quarter of the memory is unused.
	// A body that is larger than its page gets a page of its size.
	firstBits int
}

// newBodies returns an empty sequence for one of several shards. The first pages of all shards have 64 KiB
// in total, but at least 4 KiB each.
func newBodies(shards int) bodies { return bodies{firstBits: max(17-bits.Len(uint(shards)), 12)} }

const (
	// pageBits is the number of bits of an offset inside a page.
	pageBits = 20
	// maxPages is the maximum number of pages. It follows from the 32 bits of an offset.
	maxPages = 1 << (32 - pageBits)
)

// pageSize returns the size of the page with a number, counted from 0.
func (b *bodies) pageSize(number int) int { return 1 << min(b.firstBits+number/4, pageBits) }

// append appends a body and returns its offset. It panics if all offsets are in use, because rows
// would then refer to other bodies. The limit of local.MaxMemtableBytes excludes this.
func (b *bodies) append(body []byte) uint32 {
	last := len(b.pages) - 1
	if last < 0 || b.used+len(body) > len(b.pages[last]) {
		last++
		if last == maxPages {
			panic("memtable: more than 4 GiB of bodies")
		}
		b.pages = append(b.pages, make([]byte, max(b.pageSize(last), len(body))))
		b.used = 0
	}
	copy(b.pages[last][b.used:], body)
	at := uint32(last)<<pageBits | uint32(b.used)
	b.used += len(body)
	return at
}

// from returns the bytes from an offset to the end of its page.
func (b *bodies) from(at uint32) []byte { return b.pages[at>>pageBits][at&(1<<pageBits-1):] }

// id returns the id of a body. The zero id means the content id.
func (b *bodies) id(at uint32) varve.ID {
	r := bodyReader{data: b.from(at)}
	return r.id()
}

// room returns the number of bytes that append can add to the last page.
func (b *bodies) room() int {
	if len(b.pages) == 0 {
		return 0
	}
	return len(b.pages[len(b.pages)-1]) - b.used
}
