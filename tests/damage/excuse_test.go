package damage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// tornEnd is the last segment of the journal, and the offset at which its torn part begins.
type tornEnd struct {
	*segment
	at int64
}

func (e *tornEnd) hasReading(r *varve.Reading) bool { return e != nil && e.readings[keyOf(r)] > e.at }

func (e *tornEnd) hasItem(key store.Key) bool { return e != nil && e.items[key] > e.at }

// tornEnd returns the torn end of the journal, or nil if the journal is not torn. If a segment
// before the last one is torn, a loss must report it.
func (d *damage) tornEnd(t *testing.T, r *local.Recovery, losses []local.Loss) *tornEnd {
	t.Helper()
	var end *tornEnd
	for i := range r.Torn {
		n, at := r.Torn[i].Segment, r.Torn[i].At
		isNamed := slices.ContainsFunc(losses, func(l local.Loss) bool { return l.Segment == n })
		switch {
		case n < d.last && !isNamed:
			t.Errorf("%s: want a loss, because segment %d follows", r.Torn[i], d.last)
		case n == d.last && d.journal[n] != nil:
			if end != nil && end.segment == d.journal[n] {
				at = min(at, end.at)
			}
			end = &tornEnd{d.journal[n], at}
		case end == nil:
			// No reading may be missing from the torn end: the segment has no frames, or a loss reports it.
			end = &tornEnd{segment: &segment{}}
		}
	}
	return end
}

// checkExcuses fails if a reading or an item is missing that is neither in the torn end nor in a
// loss.
func (d *damage) checkExcuses(t *testing.T, torn *tornEnd, losses []local.Loss, missing []varve.Reading, lost []store.Key) {
	t.Helper()
	for i := range missing {
		r := &missing[i]
		if !torn.hasReading(r) && !slices.ContainsFunc(losses, func(l local.Loss) bool { return d.names(&l, r) }) {
			t.Errorf("%s at %s and others (%d) are missing, and are in none of %v", r.Device, r.Time.Format(time.RFC3339), len(missing), losses)
			break
		}
	}
	for _, key := range lost {
		if !torn.hasItem(key) && !slices.ContainsFunc(losses, func(l local.Loss) bool { return d.namesItem(&l, key) }) {
			t.Errorf("item %v and others (%d) are missing, and are in none of %v", key, len(lost), losses)
			break
		}
	}
}

// names reports whether a loss may include a reading.
func (d *damage) names(l *local.Loss, r *varve.Reading) bool {
	if l.Items || l.Catalog {
		return false
	}
	if s := d.journal[l.Segment]; s != nil {
		return s.readings[keyOf(r)] > 0
	}
	if l.Table == "" {
		return true // the whole journal or database is lost, so the series are unknown
	}
	after := l.First.Device == "" || l.First.Device <= r.Device
	before := l.Last.Device == "" || r.Device <= l.Last.Device
	return d.world.tableOf(r) == l.Table && after && before
}

// namesItem reports whether a loss may include an item.
func (d *damage) namesItem(l *local.Loss, key store.Key) bool {
	if s := d.journal[l.Segment]; s != nil {
		return s.items[key] > 0
	}
	return l.Items || l.Table == ""
}
