package rollup

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Rebuild marks the hours of a series that have readings and no roll-up of
// them, because they were written while nothing was marked, and returns how many
// it marked. Reads count them from then on. Hours that were counted stay as they
// are: what they were counted from may be gone.
func (w *Worker) Rebuild(ctx context.Context, s varve.Series, window varve.Window) (marked int, err error) {
	found := map[slot]bool{}
	err = w.raw.Each(ctx, s, window, func(r *varve.Reading, _ bool) {
		found[slot{hourOf(r.Time.Unix()), dayOf(r.Arrived.Unix())}] = true
	})
	if err != nil {
		return 0, fmt.Errorf("rebuild %s: %w", s, err)
	}
	round := int64(step / time.Second)
	until := w.now().Unix()/round*round + 2*round
	for _, h := range spans(found) {
		there, err := w.hours(ctx, s, h, noField)
		if err != nil {
			return marked, fmt.Errorf("rebuild %s: %w", s, err)
		}
		marks, err := w.marks(ctx, s, h)
		if err != nil {
			return marked, fmt.Errorf("rebuild %s: %w", s, err)
		}
		dirty := slotsOf(marks, h)
		var items []store.Item
		for at := range found {
			if at.hour >= h.from && at.hour < h.to && there[at] == nil && !dirty[at] {
				items = append(items, mark{from: at.hour, hours: 1, arrival: at.arrival, until: until}.item(s))
			}
		}
		if err := w.items.PutAll(ctx, items); err != nil {
			return marked, fmt.Errorf("rebuild %s: %w", s, err)
		}
		marked += len(items)
	}
	return marked, nil
}

// noField is for who asks which hours there are, and for no field of them.
var noField = wanted{}
