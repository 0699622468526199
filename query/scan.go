package query

import (
	"context"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// ScanCopies calls scan for each stored copy of each reading of a series in a window.
// Copies are in the order of positions. They include expired readings that have not been
// dropped, and all readings that were acknowledged before.
//
// A copy is valid only until scan returns. ScanCopies ends with the first error of scan. It
// fails if a table was dropped during the scan, because copies may be missing then.
func (e *Engine) ScanCopies(ctx context.Context, s varve.Series, w varve.Window, scan func(store.Copy) error) error {
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
		if rows.isAlone(first) {
			for i := range first.page {
				if err := scan(store.Copy{Reading: &first.page[i], First: true}); err != nil {
					return err
				}
			}
			first.page = nil
			continue
		}
		same = rows.copies(same[:0], first)
		for i, r := range same {
			if err := scan(store.Copy{Reading: r, First: i == 0}); err != nil {
				return err
			}
		}
	}
	if missing := rows.coverage.Missing; len(missing) > 0 {
		return &varve.Error{Failure: varve.Unavailable, Err: store.ErrNoTable, Message: missing[0] + " was dropped while it was read: ask again"}
	}
	return nil
}

// copies removes the current reading of a source from all sources, and appends its copies in the
// order of their arrival.
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
