package api

import (
	"context"

	"github.com/varvedb/varve"
)

// collect returns all readings of the answer, because the header of CSV and Arrow has the fields of all
// readings. The method fits limits their number.
func (a *changesAnswer) collect(ctx context.Context, page []varve.Reading) (all []varve.Reading, err error) {
	for len(page) > 0 {
		all = append(all, page...)
		if page, err = a.next(ctx); err != nil {
			return nil, err
		}
	}
	a.table.SetColumns(&a.set)
	return all, nil
}

// fits counts a reading and returns true, unless the answer would exceed maxCollected. The first reading
// always fits. Each row has a cell for each field of all readings.
func (a *changesAnswer) fits(r *varve.Reading) bool {
	size, rows := a.size+r.Size(), a.rowsIn+1
	if a.rowsIn > 0 && max(size, rows*a.set.LenWith(r)*cellBytes) > maxCollected {
		return false
	}
	a.set.Add(r)
	a.size, a.rowsIn = size, rows
	return true
}
