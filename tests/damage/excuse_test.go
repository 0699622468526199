package damage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// tornEnd returns the content of the torn end of the journal, or nil if no end is torn. A torn
// segment before the last one requires a loss.
func (d *damage) tornEnd(t *testing.T, r *local.Recovery, losses []local.Loss) *segment {
	t.Helper()
	var end *segment
	for i := range r.Torn {
		n := r.Torn[i].Segment
		isNamed := slices.ContainsFunc(losses, func(l local.Loss) bool { return l.Segment == n })
		switch {
		case n < d.last && !isNamed:
			t.Errorf("%s: want a loss, because segment %d follows", r.Torn[i], d.last)
		case n == d.last:
			end = d.journal[n]
		case end == nil:
			end = &segment{} // a later segment without frames
		}
	}
	return end
}

// checkExcuses fails for readings and items that are missing, unless the torn segment or a loss
// contains them.
func (d *damage) checkExcuses(t *testing.T, torn *segment, losses []local.Loss, missing []varve.Reading, lost []store.Key) {
	t.Helper()
	for i := range missing {
		r := &missing[i]
		isTorn := torn != nil && torn.readings[keyOf(r)]
		if !isTorn && !slices.ContainsFunc(losses, func(l local.Loss) bool { return d.names(&l, r) }) {
			t.Errorf("%s at %s and others (%d) are missing, and are in none of %v", r.Device, r.Time.Format(time.RFC3339), len(missing), losses)
			break
		}
	}
	for _, key := range lost {
		isTorn := torn != nil && torn.items[key]
		if !isTorn && !slices.ContainsFunc(losses, func(l local.Loss) bool { return d.namesItem(&l, key) }) {
			t.Errorf("item %v and others (%d) are missing, and are in none of %v", key, len(lost), losses)
			break
		}
	}
}

// names reports whether a loss includes a reading.
func (d *damage) names(l *local.Loss, r *varve.Reading) bool {
	if l.Items || l.Catalog {
		return false
	}
	if s := d.journal[l.Segment]; s != nil {
		return s.readings[keyOf(r)]
	}
	if l.Table == "" {
		return true // a loss of the journal or of the database, with unknown series
	}
	after := l.First.Device == "" || l.First.Device <= r.Device
	before := l.Last.Device == "" || r.Device <= l.Last.Device
	return d.world.tableOf(r) == l.Table && after && before
}

// namesItem reports whether a loss may include an item.
func (d *damage) namesItem(l *local.Loss, key store.Key) bool {
	if s := d.journal[l.Segment]; s != nil {
		return s.items[key]
	}
	return l.Items || l.Table == ""
}
