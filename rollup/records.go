package rollup

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Raw gives the readings that roll-ups are counted from.
type Raw interface {
	// Each calls each with every copy of every reading of a series in a window that
	// is in a table, expired or not, and was acknowledged before. First reports
	// that no other copy in a table arrived before. The readings come in their
	// order, and are good during the call only.
	Each(ctx context.Context, s varve.Series, w varve.Window, each func(r *varve.Reading, first bool)) error
}

// slot is one partial: an hour, and a day of arrival.
type slot struct{ hour, arrival int64 }

func (at slot) String() string {
	return fmt.Sprintf("%s, as of %s", Hourly.start(at.hour).Format(time.RFC3339), dayText(at.arrival))
}

// span is a run of hours: from, to (exclusive).
type span struct{ from, to int64 }

func (h span) window() varve.Window {
	return varve.Window{From: Hourly.start(h.from), To: Hourly.start(h.to)}
}

// records reads what rollup keeps in items.
type records struct {
	items  store.Items
	raw    Raw
	resent Resent
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
