package dynamo

import (
	"strconv"
	"strings"
	"time"

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
	attrSize   = "_size"
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

// A reading's key within its row is its id. Before it stands, in a row of more
// than a millisecond, the millisecond within the row; and if the time is finer
// than that, or the id could be mistaken for what stands before it, the
// nanosecond within the millisecond. So the keys of a row sort in the order of
// time.
const (
	msMark = '.'
	nsMark = '~'
	// partLen is the length of a mark and its number: four digits hold 16.7
	// million, more than there are nanoseconds in a millisecond or milliseconds
	// in an hour.
	partLen = 1 + 4
)

// digits are in the order of their bytes.
const digits = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// rowKey is a reading's key within a row from a millisecond on.
func rowKey(r *varve.Reading, ms int64, wide bool) string {
	id := r.ID.String()
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

func appendPart(b []byte, mark byte, n int64) []byte {
	return append(b, mark, digits[n>>18&63], digits[n>>12&63], digits[n>>6&63], digits[n&63])
}

// parseRowKey returns how many nanoseconds after its row's beginning a reading
// happened, and its id.
func parseRowKey(key string) (offset int64, id varve.ID, ok bool) {
	ms, key, ok := cutPart(key, msMark)
	if !ok {
		return 0, id, false
	}
	ns, key, ok := cutPart(key, nsMark)
	if !ok || ns >= nsPerMs {
		return 0, id, false
	}
	id, err := varve.ParseID(key)
	return ms*nsPerMs + ns, id, err == nil
}

// cutPart takes the number behind a mark off a key; 0 if the mark is not there.
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

// seriesKey is the hash key of one of a series' shards. The first is the series
// itself. The stream of a series has no colon.
func seriesKey(s varve.Series, shard int) string {
	if shard == 0 {
		return s.String()
	}
	return s.Tenant + "/" + s.Stream + ":" + strconv.Itoa(shard) + "/" + s.Device
}

// shardOf returns in which of a series' shards a reading lies.
func shardOf(id varve.ID, shards int) int {
	if shards <= 1 {
		return 0
	}
	return int(xxhash.Sum64String(id.String()) % uint64(shards))
}

// place is where a row is: its first millisecond and the way to it from the row
// of whole milliseconds, a digit from 1 to 9 for each step down.
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

// below returns the place of the row below p to which a reading's way leads:
// by its time, to one of nine parts of the row's window, as long as the parts
// are a millisecond or longer; then by its key's hash.
func (p place) below(key string, offset int64, window time.Duration) place {
	part, depth := int64(1), 0
	for ; depth < len(p.path) && int64(window)/(part*9) >= nsPerMs; depth++ {
		part *= 9
	}
	if depth == len(p.path) && int64(window)/(part*9) >= nsPerMs {
		// At most 9^6 parts of an hour, so that nothing overflows.
		nth := offset * (part * 9) / int64(window) % 9
		return place{p.ms, p.path + string(rune('1'+nth))}
	}
	hash := xxhash.Sum64String(key)
	for range len(p.path) - depth {
		hash /= 9
	}
	return place{p.ms, p.path + string(rune('1'+hash%9))}
}

// msOf returns the millisecond of a sort key, and whether the row is below
// another.
func msOf(ts string) (ms int64, below, ok bool) {
	whole, rest, _ := strings.Cut(ts, ".")
	ms, err := strconv.ParseInt(whole, 10, 64)
	return ms, strings.Trim(rest, "0") != "", err == nil
}
