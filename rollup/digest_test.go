package rollup

import (
	"testing"

	"github.com/varvedb/varve"
)

// TestDigest: the digest of some readings is the same in whatever order they come,
// and another one if one of them has another time or id, of whichever kind.
func TestDigest(t *testing.T) {
	id := func(text string) varve.ID {
		id, err := varve.ParseID(text)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	sets := [][]varve.Position{
		{{Time: 1, ID: id("x")}, {Time: 2, ID: id("x")}},
		{{Time: 1, ID: id("x")}, {Time: 3, ID: id("x")}},
		{{Time: 1, ID: id("x")}, {Time: 2, ID: id("y")}},
		{{Time: 1, ID: id("y")}, {Time: 2, ID: id("x")}},
		{{Time: 1, ID: varve.HashID(1)}, {Time: 2, ID: varve.HashID(2)}},
		{{Time: 2, ID: varve.HashID(1)}, {Time: 1, ID: varve.HashID(2)}},
		{{Time: 1, ID: varve.HashID(2)}},
		{},
	}
	seen := map[uint64]int{}
	for i, set := range sets {
		var up, down uint64
		for j := range set {
			up, down = up+digestOf(set[j]), down+digestOf(set[len(set)-1-j])
		}
		if up != down {
			t.Errorf("%v has two digests", set)
		}
		if other, ok := seen[up]; ok {
			t.Errorf("%v has the digest of %v", set, sets[other])
		}
		seen[up] = i
	}
}
