package rollup

import (
	"cmp"
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Raw gives the readings that roll-ups are counted from.
type Raw interface {
	// Each calls each with every copy of every reading of a series in a window
	// that is still there, expired or not, and was acknowledged before. It counts
	// unless an earlier copy was alive when the day began on which it arrived, or
	// came on that day; earlier says that there is one, alive or not. The readings
	// come in their order, and are good during the call only.
	Each(ctx context.Context, s varve.Series, w varve.Window, each func(r *varve.Reading, counts, earlier bool)) error
}

// slot is one partial: an hour, and a day of arrival.
type slot struct{ hour, arrival int64 }

// span is a run of hours: from, to (exclusive).
type span struct{ from, to int64 }

func (h span) window() varve.Window {
	return varve.Window{From: Hourly.start(h.from), To: Hourly.start(h.to)}
}

// records reads what rollup keeps in items.
type records struct {
	items store.Items
	raw   Raw
}

// marks returns the marks of a series that cover any hour of a span.
func (r *records) marks(ctx context.Context, s varve.Series, h span) (list []mark, err error) {
	// A mark that covers an hour begins on its day.
	q := store.ItemQuery{PK: pkOf(s), From: markFrom(h.from / dayHours * dayHours), To: markFrom(h.to), Consistent: true}
	err = r.each(ctx, q, func(it *store.Item) error {
		_, m, err := parseMark(it.Key)
		if err == nil && m.from+m.hours > h.from {
			list = append(list, m)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("marks of %s: %w", s, err)
	}
	return list, nil
}

// each calls each with the items of a query, to its end.
func (r *records) each(ctx context.Context, q store.ItemQuery, each func(*store.Item) error) error {
	for {
		page, err := r.items.Query(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := each(&page.Items[i]); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

// count counts the wanted fields of dirty slots anew, from the readings. Slots
// without any are among the result, empty.
func (r *records) count(ctx context.Context, s varve.Series, dirty map[slot]bool, only wanted) (map[slot]*Partial, error) {
	tallies := make(map[slot]*tally, len(dirty))
	for d := range dirty {
		tallies[d] = &tally{only: only}
	}
	for _, h := range spans(dirty) {
		err := r.raw.Each(ctx, s, h.window(), func(x *varve.Reading, counts, _ bool) {
			switch t := tallies[slot{hourOf(x.Time.Unix()), dayOf(x.Arrived.Unix())}]; {
			case t == nil || ctx.Err() != nil: // nobody waits for the rest
			case counts:
				t.add(x)
			default:
				t.sum.again = true
			}
		})
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, fmt.Errorf("count %s: %w", s, err)
		}
	}
	counted := make(map[slot]*Partial, len(tallies))
	for d, t := range tallies {
		counted[d] = t.result()
	}
	return counted, nil
}
