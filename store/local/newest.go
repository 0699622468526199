package local

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// newestArrived returns the last-arrived live reading of a series in a table. A reading does not count
// if the table has a higher live version of it.
func (rd *reader) newestArrived(ctx context.Context, l store.Latest) (best varve.Reading, found bool, cost store.Cost, err error) {
	best, found, cost, err = rd.lastArrived(ctx, l)
	if err != nil || !found {
		return best, found, cost, err
	}
	superseded, err := rd.isSuperseded(ctx, &l, &best)
	if err != nil || !superseded {
		return best, err == nil, cost, err
	}
	return rd.scanNewest(ctx, l, cost)
}

// isSuperseded reports whether a table has a higher live version of a reading.
func (rd *reader) isSuperseded(ctx context.Context, l *store.Latest, of *varve.Reading) (bool, error) {
	at := of.Position()
	r := store.Range{Table: l.Table, Series: l.Series, Window: varve.Window{From: of.Time, To: of.Time.Add(1)}, After: &at, Limit: 1, Damaged: l.Damaged}
	for {
		page, err := rd.Read(ctx, r, nil)
		if err != nil || len(page.Readings) == 0 {
			return false, err
		}
		last := page.Readings[0].Position()
		if !last.IsVersionOf(at) {
			return false, nil
		}
		if page.Readings[0].Alive(l.Cutoff) {
			return true, nil
		}
		r.After = &last
	}
}

// scanNewest returns the reading that arrived last among the highest live versions of a series in a
// table. It reads all readings of the series in this table.
func (rd *reader) scanNewest(ctx context.Context, l store.Latest, cost store.Cost) (best varve.Reading, found bool, _ store.Cost, err error) {
	r := store.Range{Table: l.Table, Series: l.Series, Window: varve.AllTime(), Order: varve.Descending, Damaged: l.Damaged}
	var higher varve.Position // position of the live reading that was read before
	for {
		page, err := rd.Read(ctx, r, nil)
		cost.Add(page.Cost)
		if err != nil {
			return best, false, cost, err
		}
		for i := range page.Readings {
			q := &page.Readings[i]
			if !q.Alive(l.Cutoff) {
				continue
			}
			at := q.Position()
			superseded := at.IsVersionOf(higher)
			if higher = at; !superseded && (!found || l.By.Later(q, &best)) {
				best, found = *q, true
			}
		}
		if !page.More {
			return best, found, cost, nil
		}
		last := page.Readings[len(page.Readings)-1].Position()
		r.After = &last
	}
}
