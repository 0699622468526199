package row

import (
	"time"

	"github.com/varvedb/varve"
)

// Expiry returns the earliest time at which a row with the given entries may be deleted, in
// seconds since 1970. 0 means never.
func Expiry(entries []Entry, deleteAfter time.Duration) int64 {
	var last int64
	for i := range entries {
		at := expiryOf(entries[i].Reading, deleteAfter)
		if at == 0 {
			return 0
		}
		last = max(last, at)
	}
	return last
}

// expiryOf returns the earliest time at which a reading may be deleted, rounded up to a second. 0
// means never.
func expiryOf(r *varve.Reading, deleteAfter time.Duration) int64 {
	if deleteAfter <= 0 {
		return 0
	}
	return lastTime(r).Add(deleteAfter + time.Second - 1).Unix()
}

// LaterExpiry returns the later of two expiries, where 0 means never.
func LaterExpiry(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// lastTime returns the later of a reading's event time and arrival.
func lastTime(r *varve.Reading) time.Time {
	if r.Arrived.After(r.Time) {
		return r.Arrived
	}
	return r.Time
}
