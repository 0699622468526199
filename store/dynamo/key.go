package dynamo

import (
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
)

// Names of a row's attributes. Fields have their own names, which never begin
// with "_"; those called series or ts have one put before them.
const (
	attrSeries = "series"
	attrTS     = "ts"
	attrIDs    = "_ids"
	attrAt     = "_at"
	attrScale  = "_scale"
	attrTTL    = "_ttl"
)

func fieldAttr(name string) string {
	if name == attrSeries || name == attrTS {
		return "_" + name
	}
	return name
}

func fieldName(attr string) (name string, ok bool) {
	if rest, escaped := strings.CutPrefix(attr, "_"); escaped {
		return rest, rest == attrSeries || rest == attrTS
	}
	return attr, attr != attrSeries && attr != attrTS
}

const nsPerMs = 1_000_000

// finerMark begins the keys of readings that are finer than a millisecond, and
// of those whose ids begin with it.
const finerMark = '/'

// digits are in the order of their bytes, so that keys of one row sort in the
// order of time.
const digits = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

const finerLen = 1 + 4 // 64^4 > a million nanoseconds

// rowKey is a reading's key within its row.
func rowKey(r *varve.Reading) string {
	id := r.ID.String()
	ns := r.Time.UnixNano() % nsPerMs
	if ns == 0 && id[0] != finerMark {
		return id
	}
	b := make([]byte, 0, finerLen+len(id))
	b = append(b, finerMark, digits[ns>>18&63], digits[ns>>12&63], digits[ns>>6&63], digits[ns&63])
	return string(append(b, id...))
}

// parseRowKey returns the nanoseconds and the id of a key.
func parseRowKey(key string) (ns int64, id varve.ID, ok bool) {
	if key != "" && key[0] == finerMark {
		if len(key) <= finerLen {
			return 0, id, false
		}
		for _, c := range []byte(key[1:finerLen]) {
			d := strings.IndexByte(digits, c)
			if d < 0 {
				return 0, id, false
			}
			ns = ns<<6 | int64(d)
		}
		key = key[finerLen:]
	}
	id, err := varve.ParseID(key)
	return ns, id, err == nil && ns < nsPerMs
}

// place is where a row is: its millisecond and the way to it from the row of
// whole milliseconds, a digit from 1 to 9 for each step down.
type place struct {
	ms   int64
	path string
}

// String returns the place as the row's sort key.
func (p place) String() string {
	s := strconv.FormatInt(p.ms, 10)
	if p.path != "" {
		s += "." + p.path
	}
	return s
}

// below returns the place of the row below p on an id's way.
func (p place) below(key string) place {
	hash := xxhash.Sum64String(key)
	for range p.path {
		hash /= 9
	}
	return place{p.ms, p.path + string(rune('1'+hash%9))}
}

// msOf returns the millisecond of a sort key.
func msOf(ts string) (int64, bool) {
	whole, _, _ := strings.Cut(ts, ".")
	ms, err := strconv.ParseInt(whole, 10, 64)
	return ms, err == nil
}
