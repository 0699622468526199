package rollup

import (
	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
)

// digestOf is what a reading adds to the digest of which readings a partial is of.
// The sum is the same in whatever order they come, and tells sets of them apart,
// but for one in 2^64.
func digestOf(at varve.Position) uint64 {
	id, ok := at.ID.Hash()
	if !ok {
		var buf [64]byte
		id = xxhash.Sum64(at.ID.Append(buf[:0]))
	}
	// As splitmix64 does, so that sums of like positions are unlike.
	x := id ^ uint64(at.Time)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
