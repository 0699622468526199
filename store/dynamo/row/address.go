package row

import (
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/dynamo/attr"
)

// Ref identifies a first row by its table, series, shard and first millisecond.
type Ref struct {
	Table  grid.Table
	Series varve.Series
	Shard  int
	MS     int64
}

// RefOf returns the Ref of the first row for a reading, given the row window and the number of
// shards.
func RefOf(t grid.Table, r *varve.Reading, window time.Duration, shards int) Ref {
	w := int64(window)
	return Ref{t, r.Series, ShardOf(r.ID, shards), r.Time.UnixNano() / w * w / nsPerMs}
}

// Address returns the address of the first row.
func (r Ref) Address() Address { return Address{Ref: r} }

// Address identifies a row, either the first row of a row window or an overflow row below it. The
// overflow path has one digit from 1 to 9 for each step from the first row down to this row.
type Address struct {
	Ref

	Overflow string
}

// TS returns the sort key of the row.
func (a Address) TS() string {
	s := strconv.FormatInt(a.MS, 10)
	if a.Overflow != "" {
		s += "." + a.Overflow
	}
	return s
}

// Key returns the key attributes of the row.
func (a Address) Key() attr.Item {
	return attr.Item{AttrSeries: &attr.Str{Value: seriesKey(a.Series, a.Shard)}, AttrTS: &attr.Num{Value: a.TS()}}
}

// Below returns the address of the overflow row for a reading, directly below a row. A row window
// is divided into ninths, and each ninth into ninths again. The next digit is the number of the
// ninth that contains the reading. If ninths would be shorter than a millisecond, the digit depends
// on the hash of the key.
func (a Address) Below(e *Entry, window time.Duration) Address {
	part, depth := int64(1), 0
	for ; depth < len(a.Overflow) && int64(window)/(part*9) >= nsPerMs; depth++ {
		part *= 9
	}
	if depth == len(a.Overflow) && int64(window)/(part*9) >= nsPerMs {
		// An hour has at most 9^6 parts, so the product does not overflow.
		nth := e.Offset * (part * 9) / int64(window) % 9
		return Address{a.Ref, a.Overflow + string(rune('1'+nth))}
	}
	hash := xxhash.Sum64String(e.Key)
	for range len(a.Overflow) - depth {
		hash /= 9
	}
	return Address{a.Ref, a.Overflow + string(rune('1'+hash%9))}
}

// MaxOverflow is appended to a millisecond. The resulting sort key sorts after the keys of all overflow
// rows of the millisecond.
const MaxOverflow = ".9999999999999999999999"

// ParseTS returns the millisecond of a sort key, and whether the key belongs to an overflow row.
func ParseTS(ts string) (ms int64, overflow, ok bool) {
	whole, rest, _ := strings.Cut(ts, ".")
	ms, err := strconv.ParseInt(whole, 10, 64)
	return ms, strings.Trim(rest, "0") != "", err == nil
}
