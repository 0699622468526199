package memtable

import (
	"fmt"
	"strings"
	"testing"

	"github.com/varvedb/varve"
)

// TestMemtable_BoundsRepeatedNames adds three readings with long field names to each of many series. The
// chunk of each series repeats the names. So the memtable must count as full because of the names, while
// its own size is still within the limit.
func TestMemtable_BoundsRepeatedNames(t *testing.T) {
	const limit = 1 << 20
	whole := New(0, 1, Caching{})
	m := whole.Shards[0]
	fields := make([]varve.Field, 100)
	names := 0
	for i := range fields {
		fields[i].Name = fmt.Sprintf("%s%03d", strings.Repeat("n", 57), i)
		names += len(fields[i].Name) + 1 + columnBytes
	}
	shape := m.Shape(fields, 0)
	series := 0
	for ; !whole.IsFull(limit); series++ {
		var rows Rows
		for at := range int64(3) { // the chunk of a series has the names once
			m.Append(&rows, []Entry{{Time: at, To: 10}}, shape, make([]byte, 10))
		}
	}
	if size, most := series*names, (maxRepetition+1)*limit; size < maxRepetition*limit-names || size > most {
		t.Errorf("a full memtable of %d series has %d bytes of names in chunks, want about %d", series, size, maxRepetition*limit)
	}
	if whole.Bytes() > limit {
		t.Errorf("the memtable has %d bytes, more than its limit", whole.Bytes())
	}
}

// TestMemtable_BoundsFlushOfLargestLimit fills the field names of a memtable up to the bound that applies to every
// limit. Also with the largest limit, the memtable must be full, and two of them must fit into a batch of Pebble.
func TestMemtable_BoundsFlushOfLargestLimit(t *testing.T) {
	const largest = 9 * (512 << 20) / 4 // 2.25 times local.MaxMemtableBytes
	m := New(0, 1, Caching{})
	m.Shards[0].repeated.Store(maxRepeated)
	if !m.IsFull(largest) {
		t.Errorf("a memtable with %d bytes of field names in chunks is not full", maxRepeated)
	}
	if batch := 2 * (largest + maxRepeated); batch >= 4<<30 {
		t.Errorf("two memtables need a batch of %d bytes, and the limit is 4 GiB", batch)
	}
}
