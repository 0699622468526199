package row

import (
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// Entry is a submitted reading with its key in a row and a pointer to its verdict.
type Entry struct {
	Key     string
	Offset  int64 // nanoseconds after the beginning of the row
	Reading *varve.Reading
	Verdict *varve.Verdict
	size    int // upper limit of the bytes that the reading adds to a row
}

// NewEntry returns the entry of a reading in a row that begins at the given millisecond.
func NewEntry(r *varve.Reading, v *varve.Verdict, ms int64, window time.Duration) Entry {
	key := Key(r, ms, window > nsPerMs)
	size := r.Size() + (len(r.Fields)+2)*(len(key)+attr.ElementOverhead+attr.NumberBytes)
	return Entry{Key: key, Offset: r.Time.UnixNano() - ms*nsPerMs, Reading: r, Verdict: v, size: size}
}

// DistinctKeys returns the entries, except entries with the same key as an earlier one.
func DistinctKeys(entries []Entry) []Entry {
	seen := make(map[string]bool, len(entries))
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		repeated := seen[e.Key]
		seen[e.Key] = true
		return repeated
	})
}

// FillCount returns how many entries are needed to fill a number of bytes. It returns at least 1
// and at most all.
func FillCount(entries []Entry, bytes int) int {
	sum := 0
	for i := range entries {
		if sum >= bytes && i > 0 {
			return i
		}
		sum += entries[i].size
	}
	return len(entries)
}
