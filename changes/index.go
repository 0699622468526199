package changes

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// index is the record about the index of a stream: the time from which its markers are complete.
type index struct {
	from time.Time     // arrivals from this time on have markers; the zero time means that all arrivals have one
	keep time.Duration // retention of new markers, or retention.Forever
	// raised is the time at which the retention was last raised, if ever. Markers from before that
	// time live only as long as the previous retention.
	raised time.Time
	before time.Duration // retention before that increase
}

// Attributes of an index.
const (
	attrFrom   = "from"
	attrKeep   = "keep"   // retention of markers in seconds; 0 means forever
	attrRaised = "raised" // time of the last increase of the retention
	attrBefore = "before" // retention before that increase, in seconds
)

func (ix *index) item(s Stream) store.Item {
	it := store.Item{Key: s.indexKey(), Attrs: map[string]varve.Value{attrKeep: secondsValue(ix.keep)}}
	registry.PutTime(it.Attrs, attrFrom, ix.from)
	if !ix.raised.IsZero() {
		registry.PutTime(it.Attrs, attrRaised, ix.raised)
		it.Attrs[attrBefore] = secondsValue(ix.before)
	}
	return it
}

func secondsValue(d time.Duration) varve.Value {
	if d == retention.Forever {
		return varve.IntValue(0)
	}
	return varve.IntValue(int64(d / time.Second))
}

func parseSeconds(v varve.Value) time.Duration {
	if n := registry.Int(v); n > 0 {
		return time.Duration(n) * time.Second
	}
	return retention.Forever
}

// readIndex returns the record about a stream, or nil if it is missing.
func readIndex(ctx context.Context, items store.Items, s Stream) (*index, error) {
	found, err := items.Get(ctx, []store.Key{s.indexKey()}, true)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	r := registry.NewReader(&found[0])
	ix := &index{from: r.Time(attrFrom), raised: r.Time(attrRaised), keep: parseSeconds(found[0].Attrs[attrKeep]), before: parseSeconds(found[0].Attrs[attrBefore])}
	return ix, r.Err()
}

// recordIndex records that the changes of a stream are marked from a time on, or from an earlier time if
// one is recorded already. It also records changes of the retention.
func recordIndex(ctx context.Context, items store.Items, s Stream, from time.Time, keep time.Duration) error {
	ix, err := readIndex(ctx, items, s)
	if err != nil {
		return err
	}
	switch {
	case ix == nil:
		ix = &index{from: from, keep: keep}
		_, err := items.PutAbsent(ctx, []store.Item{ix.item(s)})
		return err
	case ix.keep == keep:
		return nil
	case keep > ix.keep:
		old := min(ix.keep, ix.shortened(from))
		ix.raised, ix.before, ix.keep = from, old, keep
	default:
		ix.keep = keep
	}
	if err := items.Put(ctx, ix.item(s)); err != nil {
		return fmt.Errorf("put %s: %w", s.indexKey().PK, err)
	}
	return nil
}

// shortened returns the retention that applied before it was raised, as long as the present retention still
// includes the time of the increase. Otherwise it returns retention.Forever, which means no limit.
func (ix *index) shortened(now time.Time) time.Duration {
	if ix.raised.IsZero() || !ix.raised.After(retention.Cutoff(now, ix.keep)) {
		return retention.Forever
	}
	return ix.before
}

// completeFrom returns the time since which the arrivals are complete. No later arrival has
// expired, and all later arrivals have markers. The zero time means that all arrivals are complete.
func (ix *index) completeFrom(now time.Time, keep time.Duration) time.Time {
	from := ix.from
	later := func(t time.Time) {
		if t.After(from) {
			from = t
		}
	}
	later(retention.Cutoff(now, min(keep, ix.keep)))
	if !ix.raised.IsZero() && ix.before != retention.Forever {
		old := retention.Cutoff(now, ix.before)
		if old.After(ix.raised) {
			old = ix.raised
		}
		later(old)
	}
	return from
}
