package row

import (
	"strings"

	"github.com/varvedb/varve"
)

const nsPerMs = 1_000_000

// The key of a reading in its row is the key of its id, with up to two parts before it:
//
//   - the millisecond within the row, if the row is wider than a millisecond
//   - the nanosecond within the millisecond, if it is not 0 or the id could be mistaken for a part
//
// So the keys of a row sort by time.
const (
	msMark = '.'
	nsMark = '~'
	// partLen is the length of a part: its mark and four digits. Four digits can represent 16.7
	// million values, which is more than the nanoseconds in a millisecond or the milliseconds in
	// an hour.
	partLen = 1 + 4
)

// digits are the 64 digits of the parts of keys, in ascending order of their bytes.
const digits = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// Key returns the key of a reading in a row that begins at the given millisecond. A row is wide if
// its row window is longer than a millisecond.
func Key(r *varve.Reading, ms int64, wide bool) string {
	id := r.ID.Key()
	at := r.Time.UnixNano()
	ns := at % nsPerMs
	b := make([]byte, 0, 2*partLen+len(id))
	if wide {
		b = appendPart(b, msMark, at/nsPerMs-ms)
	}
	if ns != 0 || id[0] == msMark || id[0] >= nsMark {
		b = appendPart(b, nsMark, ns)
	}
	return string(append(b, id...))
}

// IsWideKey reports whether a key belongs to a wide row.
func IsWideKey(key string) bool { return strings.HasPrefix(key, string(msMark)) }

func appendPart(b []byte, mark byte, n int64) []byte {
	return append(b, mark, digits[n>>18&63], digits[n>>12&63], digits[n>>6&63], digits[n&63])
}

// ParseKey returns the time of a reading and its id. The time is in nanoseconds after the
// beginning of its row.
func ParseKey(key string) (offset int64, id varve.ID, ok bool) {
	ms, key, ok := cutPart(key, msMark)
	if !ok {
		return 0, id, false
	}
	ns, key, ok := cutPart(key, nsMark)
	if !ok || ns >= nsPerMs {
		return 0, id, false
	}
	id, err := varve.ParseKey(key)
	return ms*nsPerMs + ns, id, err == nil
}

// cutPart removes the first part of a key if it begins with mark, and returns its number. Without
// the mark, the number is 0.
func cutPart(key string, mark byte) (n int64, rest string, ok bool) {
	if key == "" || key[0] != mark {
		return 0, key, true
	}
	if len(key) <= partLen {
		return 0, key, false
	}
	for _, c := range []byte(key[1:partLen]) {
		d := strings.IndexByte(digits, c)
		if d < 0 {
			return 0, key, false
		}
		n = n<<6 | int64(d)
	}
	return n, key[partLen:], true
}
