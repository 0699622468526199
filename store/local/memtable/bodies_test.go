package memtable

import (
	"encoding/binary"
	"testing"
)

// TestBodies_StayApart appends bodies of 100 bytes up to 160 MiB, which is more than a full memtable
// has by default. Each body must be found at its offset, and pages must not be wasted.
func TestBodies_StayApart(t *testing.T) {
	const size, total = 100, 160 << 20
	b := newBodies(1)
	body := make([]byte, size)
	var offsets []uint32
	for n := range total / size {
		binary.LittleEndian.PutUint64(body, uint64(n))
		offsets = append(offsets, b.append(body))
	}
	for n, at := range offsets {
		if got := binary.LittleEndian.Uint64(b.from(at)); got != uint64(n) {
			t.Fatalf("body %d of %d: found body %d", n, len(offsets), got)
		}
	}
	if most := total>>pageBits + 20; len(b.pages) > most {
		t.Errorf("%d pages, want at most %d", len(b.pages), most)
	}
}
