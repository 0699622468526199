package changes

import (
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Epoch is a period in which the clock of the server was never set back by more than ten minutes. A
// cursor of an earlier epoch is invalid if a reading of a later epoch may have an arrival before
// the cursor.
type Epoch struct {
	Number int64
	Since  time.Time // arrivals of the epoch are at this time or later
	// Earliest is the earliest Since of this epoch and all epochs before it.
	Earliest time.Time
}

// Attributes of an epoch.
const (
	attrEpoch    = "epoch"
	attrSince    = "since"
	attrEarliest = "earliest"
)

// next returns the epoch after e. The argument "at" is the time to which the clock was set back.
func (e Epoch) next(at time.Time) Epoch {
	n := Epoch{Number: e.Number + 1, Since: at, Earliest: at}
	if before := e.earliest(); !before.IsZero() {
		n.Earliest = earlier(at, before)
	}
	return n
}

// earliest returns Earliest. Records that earlier versions of Varve wrote have only Since.
func (e Epoch) earliest() time.Time {
	if e.Earliest.IsZero() {
		return e.Since
	}
	return e.Earliest
}

// repeatsFrom returns the earliest time to which the clock was set back since a cursor's epoch. It may
// also return an earlier time. If the cursor is after the returned time, later readings may have
// arrivals before the cursor. The argument "cursor" is the number of the cursor's epoch. If the clock
// was not set back since, repeatsFrom returns false.
func (e Epoch) repeatsFrom(cursor int64) (time.Time, bool) {
	switch cursor {
	case e.Number:
		return time.Time{}, false
	case e.Number - 1:
		return e.Since, true
	default:
		return e.earliest(), true
	}
}

func (e Epoch) put(attrs map[string]varve.Value) {
	attrs[attrEpoch] = varve.IntValue(e.Number)
	registry.PutTime(attrs, attrSince, e.Since)
	registry.PutTime(attrs, attrEarliest, e.Earliest)
}

func (e Epoch) item() store.Item {
	it := store.Item{Key: epochKey, Attrs: map[string]varve.Value{}}
	e.put(it.Attrs)
	return it
}

func decodeEpoch(it *store.Item, r *registry.Reader) Epoch {
	return Epoch{Number: registry.Int(it.Attrs[attrEpoch]), Since: r.Time(attrSince), Earliest: r.Time(attrEarliest)}
}
