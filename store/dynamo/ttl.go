package dynamo

import (
	"strconv"
	"time"

	"github.com/varvedb/varve"
)

// expiry returns from when on DynamoDB may delete a reading, in unix seconds;
// 0: never. A second that has begun counts whole.
func expiry(r *varve.Reading, keep time.Duration) int64 {
	if keep <= 0 {
		return 0
	}
	last := r.Time
	if r.Arrived.After(last) {
		last = r.Arrived
	}
	return last.Add(keep + time.Second - 1).Unix()
}

// expiryOf returns from when on a row with all of some entries may be deleted.
func expiryOf(entries []entry, keep time.Duration) int64 {
	var last int64
	for i := range entries {
		at := expiry(entries[i].reading, keep)
		if at == 0 {
			return 0
		}
		last = max(last, at)
	}
	return last
}

// later returns the later of two expiries.
func later(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// ttl sets when a row may be deleted; 0: never.
func (x *expression) ttl(at int64) {
	if at != 0 {
		x.set(x.name(attrTTL), &numV{Value: strconv.FormatInt(at, 10)})
	}
}
