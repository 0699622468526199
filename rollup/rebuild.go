package rollup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Rebuild marks the hours of a series of which more readings count than are in
// their roll-up, because some were written while nothing was marked, and returns
// how many it marked, of each day of arrival. Reads count them from then on.
//
// Where readings are gone that an hour was counted from, what came on another
// day may be copies of them, and be in the roll-up already. Such hours are left as
// they are, and told of.
func (w *Worker) Rebuild(ctx context.Context, s varve.Series, window varve.Window) (marked, left int, err error) {
	if err := window.Validate(); err != nil {
		return 0, 0, varve.InvalidParam("to", "%s", err)
	}
	counted := map[slot]int64{}
	asked := Query{Period: Hourly, Window: window}
	err = w.raw.Each(ctx, s, asked.span().window(), func(r *varve.Reading, counts bool) {
		if counts {
			counted[slot{hourOf(r.Time.Unix()), dayOf(r.Arrived.Unix())}]++
		}
	})
	if err != nil {
		return 0, 0, fmt.Errorf("rebuild %s: %w", s, err)
	}
	round := int64(step / time.Second)
	until := w.now().Unix()/round*round + 2*round
	slots := slices.SortedFunc(maps.Keys(counted), func(a, b slot) int { return cmp.Compare(a.hour, b.hour) })
	for _, h := range spans(counted) {
		n, _ := slices.BinarySearchFunc(slots, h.to, func(at slot, to int64) int { return cmp.Compare(at.hour, to) })
		behind, kept, err := w.behind(ctx, s, h, slots[:n], counted)
		slots = slots[n:]
		if err != nil {
			return marked, left, fmt.Errorf("rebuild %s: %w", s, err)
		}
		var items []store.Item
		for _, at := range behind {
			items = append(items, mark{from: at.hour, hours: 1, arrival: at.arrival, until: until}.item(s))
		}
		if err := w.items.PutAll(ctx, items); err != nil {
			return marked, left, fmt.Errorf("rebuild %s: %w", s, err)
		}
		marked, left = marked+len(items), left+kept
	}
	return marked, left, nil
}

// behind returns which of a span's slots at rest are behind what counts now, and
// how many may be, which cannot be told. Dirty ones are counted anyway.
func (w *Worker) behind(ctx context.Context, s varve.Series, h span, slots []slot, counted map[slot]int64) (list []slot, left int, err error) {
	marks, err := w.marks(ctx, s, h)
	if err != nil {
		return nil, 0, err
	}
	there, err := w.hours(ctx, s, h, noField)
	if err != nil {
		return nil, 0, err
	}
	dirty, lost := slotsOf(marks, h), map[int64]bool{}
	for at, p := range there {
		// Either readings are gone, or a copy that arrived earlier has come: then
		// they are about to count on that day, too.
		if p.Readings > counted[at] {
			lost[at.hour] = true
		}
	}
	for _, at := range slots {
		switch p := there[at]; {
		case dirty[at] || p != nil && counted[at] <= p.Readings:
		case lost[at.hour]:
			left++
		default:
			list = append(list, at)
		}
	}
	return list, left, nil
}

// noField is for who asks which hours there are, and for no field of them.
var noField = wanted{}
