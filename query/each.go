package query

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
)

// Each calls each with every copy of every reading of a series in a window that
// was acknowledged before and is still in a table, expired or not, and tells
// which count, and whether there are earlier copies: one does not count if another
// was alive, by its class's and stream's retention, when the day began on which
// this one arrived, or came earlier on that day. What is sent again after it has
// expired counts as new.
//
// So a copy no longer tells what has come before long before it is deleted, and
// whether one counts is the same at all times, however late it is asked.
//
// The copies are good during the call only. Each fails if a table was dropped
// meanwhile: some are missing then that there were.
func (e *Engine) Each(ctx context.Context, s varve.Series, w varve.Window, each func(r *varve.Reading, counts, earlier bool)) error {
	rows, err := e.Open(ctx, Query{Series: s, Window: w, Consistent: true, Expired: true})
	if err != nil {
		return err
	}
	defer rows.Close()
	var same []copied
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
				each(&first.page[i], true, false)
			}
			first.page = nil
			continue
		}
		same = rows.copies(same[:0], first)
		for i := range same {
			each(same[i].Reading, same[i].counts(same[:i]), i > 0)
		}
	}
	if missing := rows.Coverage().Missing; len(missing) > 0 {
		return varve.Errorf(varve.Unavailable, "%s was dropped while it was read: ask again", missing[0])
	}
	return nil
}

// copied is a reading in one table, of which there may be copies in others.
type copied struct {
	*varve.Reading
	keep time.Duration // how long it is alive
}

// copies takes the reading at which a source is out of all sources, and appends
// its copies in the order of their arrival.
func (r *Rows) copies(list []copied, first *source) []copied {
	at := first.page[0].Position()
	for _, s := range r.sources {
		if len(s.page) > 0 && s.page[0].Position() == at {
			list = append(list, copied{&s.page[0], s.keep})
			s.page = s.page[1:]
		}
	}
	slices.SortStableFunc(list, func(a, b copied) int { return a.Arrived.Compare(b.Arrived) })
	return list
}

// counts reports whether a copy counts, of which there are earlier ones.
func (c *copied) counts(earlier []copied) bool {
	day := c.Arrived.Truncate(24 * time.Hour)
	return !slices.ContainsFunc(earlier, func(o copied) bool {
		return retention.Alive(o.Reading, retention.Cutoff(day, o.keep))
	})
}
