package chunk

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/block"
)

// TestSkipInts_AgreesWithInts skips and decodes columns of integers. Some columns are damaged. Both ways
// must end at the same byte, or both must find damage.
func TestSkipInts_AgreesWithInts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.OneOf(
			rapid.Int64Range(-3, 3), rapid.Int64Range(-200, 200), rapid.Int64(),
		), 1, 60).Draw(t, "integers")
		data := append(appendInts(nil, list), 0x80, 0xff, 7, 7, 7, 7, 7, 7, 7, 7)
		for range rapid.IntRange(0, 3).Draw(t, "damages") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= rapid.Byte().Draw(t, "flipped")
		}
		data = data[:rapid.IntRange(0, len(data)).Draw(t, "length")]
		decoded, skipped := source{data: data}, source{data: data}
		decoded.ints(make([]int64, len(list)))
		skipped.skipInts(len(list))
		if (decoded.err == nil) != (skipped.err == nil) || len(decoded.data) != len(skipped.data) {
			t.Fatalf("skipping leaves %d bytes (%v), decoding %d (%v)", len(skipped.data), skipped.err, len(decoded.data), decoded.err)
		}
	})
}

// TestSkipInts_RefusesLongNumbers skips a number of eleven bytes, which no encoder writes. That must fail.
func TestSkipInts_RefusesLongNumbers(t *testing.T) {
	data := []byte{packPlain, 2, 4}
	for range 10 {
		data = append(data, 0x80)
	}
	s := source{data: append(binary.AppendUvarint(data, 1), make([]byte, 20)...)}
	if s.skipInts(8); s.err == nil {
		t.Fatal("a number of eleven bytes was skipped")
	}
}

// TestChunk_DecodesOnlyUsedNumbers reads one column of a chunk. The other columns must stay encoded.
func TestChunk_DecodesOnlyUsedNumbers(t *testing.T) {
	var c Chunk
	list := minutes(100)
	for range 2 { // the second chunk uses the memory of the first one
		if err := c.Decode(series, build(list)); err != nil {
			t.Fatal(err)
		}
		if n := len(c.Block.Columns); n < 2 {
			t.Fatalf("%d columns, want at least 2", n)
		}
		encoded := func() (n int) {
			for i := range c.Block.Columns {
				if c.Block.Columns[i].Encoded != nil {
					n++
				}
			}
			return n
		}
		before := encoded()
		if n := c.Block.Columns[0].Numbers(0, c.Len()); n.Count != int64(c.Len()) {
			t.Fatalf("%d numbers, want %d", n.Count, c.Len())
		}
		if after := encoded(); before < 2 || after != before-1 {
			t.Fatalf("%d columns were encoded, and %d are after one was used", before, after)
		}
		var forms block.Forms
		forms.Reset(&c.Block)
		if got := forms.ID(3); got != list[3].ContentID() {
			t.Fatalf("content id %v, want %v", got, list[3].ContentID())
		}
	}
}
