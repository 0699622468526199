package query

import (
	"context"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Each calls each with every copy of every reading of a series in a window that
// was acknowledged before and is still in a table, expired or not. First reports
// that no other copy in a table arrived before.
//
// The copies are good during the call only. Each fails if a table was dropped
// meanwhile: some are missing then that there were.
func (e *Engine) Each(ctx context.Context, s varve.Series, w varve.Window, each func(r *varve.Reading, first bool)) error {
	rows, err := e.Open(ctx, Query{Series: s, Window: w, Consistent: true, Expired: true})
	if err != nil {
		return err
	}
	defer rows.Close()
	var same []*varve.Reading
	for {
		rows.giveBack()
		first, err := rows.first(ctx)
		if err != nil {
			return err
		}
		if first == nil {
			break
		}
		if rows.alone(first) {
			for i := range first.page {
				each(&first.page[i], true)
			}
			first.page = nil
			continue
		}
		same = rows.copies(same[:0], first)
		for i, r := range same {
			each(r, i == 0)
		}
	}
	if missing := rows.coverage.Missing; len(missing) > 0 {
		return &varve.Error{Failure: varve.Unavailable, Err: store.ErrNoTable, Message: missing[0] + " was dropped while it was read: ask again"}
	}
	return nil
}

// copies takes the reading at which a source is out of all sources, and appends
// its copies in the order of their arrival.
func (r *Rows) copies(list []*varve.Reading, first *source) []*varve.Reading {
	at := first.page[0].Position()
	for _, s := range r.sources {
		if len(s.page) > 0 && s.page[0].Position() == at {
			list = append(list, &s.page[0])
			s.page = s.page[1:]
		}
	}
	slices.SortStableFunc(list, func(a, b *varve.Reading) int { return a.Arrived.Compare(b.Arrived) })
	return list
}
