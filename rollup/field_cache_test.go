package rollup

import (
	"strings"
	"testing"

	"github.com/varvedb/varve/decimal"
)

// TestFieldCache_CountsLongSums checks the size of roll-ups whose sums have many digits. It must be larger
// than for short sums, because such a roll-up needs several times the memory.
func TestFieldCache_CountsLongSums(t *testing.T) {
	var long Field
	for _, text := range []string{"1" + strings.Repeat("0", 30), "0.1234567890123456"} {
		n, err := decimal.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		long.add(n, Point{Value: n})
	}
	short := rollupList{list: make([]FieldRollup, 1000)}
	longer := rollupList{list: make([]FieldRollup, 1000)}
	for i := range longer.list {
		longer.list[i] = newFieldRollup(int64(i), &long)
	}
	if more := longer.size() - short.size(); more < 200*1000 {
		t.Errorf("1000 roll-ups with long sums count %d bytes more than others, want at least 200,000", more)
	}
}
