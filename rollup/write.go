package rollup

import (
	"context"

	"github.com/varvedb/varve/store"
)

// write writes what was counted of a group. Whole says that all of its hours are
// counted now: then the day is, too.
func (w *Worker) write(ctx context.Context, g group, counted map[slot]*Partial, whole bool) error {
	var puts []store.Item
	empty := false
	for at, p := range counted {
		if p.Readings > 0 {
			puts = append(puts, p.item(hourKey(g.series, at.hour, at.arrival)))
		}
		empty = empty || p.Readings == 0
	}
	var gone []store.Key
	if whole || empty {
		sum, emptied, err := w.sum(ctx, g, counted)
		if err != nil {
			return err
		}
		gone = emptied
		if whole && sum.Readings > 0 {
			puts = append(puts, sum.item(dayKey(g.series, g.day, g.arrival)))
		} else if whole {
			gone = append(gone, dayKey(g.series, g.day, g.arrival))
		}
	}
	if err := w.items.PutAll(ctx, puts); err != nil {
		return err
	}
	return w.remove(ctx, gone)
}

// sum adds up the hours of a group, and returns the keys of those that are there
// and have no readings any more: copies that arrived earlier have taken them.
func (w *Worker) sum(ctx context.Context, g group, counted map[slot]*Partial) (sum *Partial, emptied []store.Key, err error) {
	there, err := w.hours(ctx, g.series, span{g.day * dayHours, (g.day + 1) * dayHours}, nil)
	if err != nil {
		return nil, nil, err
	}
	sum = &Partial{}
	for at, p := range there {
		if at.arrival != g.arrival {
			continue
		}
		if c := counted[at]; c == nil {
			sum.Merge(p)
		} else if c.Readings == 0 {
			emptied = append(emptied, hourKey(g.series, at.hour, at.arrival))
		}
	}
	for _, p := range counted {
		sum.Merge(p)
	}
	return sum, emptied, nil
}

// remove removes items of which there are mostly none: looking costs less.
func (w *Worker) remove(ctx context.Context, keys []store.Key) error {
	if len(keys) == 0 {
		return nil
	}
	items, err := w.items.Get(ctx, keys, true)
	if err != nil || len(items) == 0 {
		return err
	}
	keys = keys[:0]
	for i := range items {
		keys = append(keys, items[i].Key)
	}
	return w.items.DeleteAll(ctx, keys)
}
