package query

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// AsOf describes an answer over the readings that had arrived at Time or before, and are still
// alive.
//
// From CompleteFrom on, the answer equals the answer to the same query at Time. That holds only if
// the retention has not changed since then.
type AsOf struct {
	Time         time.Time `json:"time" doc:"readings that arrived after this time are left out"`
	CompleteFrom time.Time `json:"complete_from" doc:"no reading that happened at this time or later is missing; earlier ones may have expired since as_of"`
	LaterTables  int       `json:"later_tables,omitempty" doc:"tables of the window that were not read, because their readings arrived later"`
}

// CheckAsOf returns an Invalid error if asOf is in the future. Readings may still arrive before
// such a time. The zero time is valid.
func CheckAsOf(asOf, now time.Time) error {
	if asOf.After(now) {
		return varve.InvalidParam("as_of", "%s is in the future: use now or an earlier time", asOf.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// pruned is a table that a query does not read, because its readings arrived after AsOf.
type pruned struct {
	grid.Table
	why string
}

// whyLater returns the reason for leaving out a table, if none of its readings can have arrived at asOf
// or before. Otherwise it returns "". The zero time excludes no table.
func whyLater(t grid.Table, asOf time.Time) string {
	switch {
	case asOf.IsZero():
		return ""
	case t.Month.Start().After(asOf):
		return "its arrival month begins after as_of"
	case t.Window().From.Sub(asOf) > grid.MaxFuture:
		return "its event range begins more than 8 weeks after as_of"
	}
	return ""
}

// limitOf returns asOf if readings of a table can have arrived later, otherwise the zero time.
func limitOf(t grid.Table, asOf time.Time) time.Time {
	if asOf.IsZero() || !t.Month.End().After(asOf) {
		return time.Time{}
	}
	return asOf
}

// asOfCoverage returns the AsOf of a coverage, or nil if the query has none.
func asOfCoverage(q *Query, complete time.Time, later int) *AsOf {
	if q.AsOf.IsZero() {
		return nil
	}
	return &AsOf{Time: q.AsOf.UTC(), CompleteFrom: complete, LaterTables: later}
}

// completeFrom returns the event time from which no reading of a window can have expired. The argument
// "shortest" is the shortest retention in the tables of the series.
func completeFrom(w varve.Window, shortest time.Duration, now time.Time) time.Time {
	if cutoff := retention.Cutoff(now, shortest); !cutoff.Before(w.From) {
		// Readings at or before the cutoff may have expired, so return the next millisecond.
		return cutoff.UTC().Truncate(time.Millisecond).Add(time.Millisecond)
	}
	return w.From.UTC()
}

// CompleteFrom returns the event time from which no reading of the window can have expired. Earlier
// readings may be missing.
func (r *Rows) CompleteFrom() time.Time { return r.tables.plan.complete }

// Merge combines the AsOf of two answers. Both must have the same Time. If one is nil, Merge returns
// the other.
func (a *AsOf) Merge(b *AsOf) *AsOf {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	c := *a
	if b.CompleteFrom.After(c.CompleteFrom) {
		c.CompleteFrom = b.CompleteFrom
	}
	c.LaterTables = max(c.LaterTables, b.LaterTables)
	return &c
}

// counts reports whether a reading of the table is alive, and had arrived by AsOf.
func (t *planned) counts(r *varve.Reading) bool {
	return r.Alive(t.cutoff) && (t.asOf.IsZero() || !r.Arrived.After(t.asOf))
}

// omitLater removes the readings of a source's page that arrived after AsOf. The next page reuses
// the memory of the removed readings.
func (s *source) omitLater() {
	if s.asOf.IsZero() {
		return
	}
	n := 0
	for i := range s.page {
		if s.page[i].Arrived.After(s.asOf) {
			continue
		}
		if n != i {
			// The elements are swapped, so that the next page can reuse the memory of each element.
			s.page[n], s.page[i] = s.page[i], s.page[n]
		}
		n++
	}
	s.page = s.page[:n]
	if len(s.parts) == 0 {
		return
	}
	var kept []block.Part
	for i := range s.parts {
		kept = appendArrived(kept, &s.parts[i], s.asOf.UnixMilli())
	}
	if s.parts = kept; len(kept) == 0 && s.release != nil {
		s.release()
		s.release = nil
	}
}

// appendArrived appends the ranges of a part whose readings arrived by a time in milliseconds since
// 1970, in the order of the part.
func appendArrived(dst []block.Part, p *block.Part, by int64) []block.Part {
	for k := 0; k < p.Len(); {
		if p.Arrived[p.Row(k)] > by {
			k++
			continue
		}
		from := k
		for k < p.Len() && p.Arrived[p.Row(k)] <= by {
			k++
		}
		_, rest := p.Cut(from)
		first, _ := rest.Cut(k - from)
		dst = append(dst, first)
	}
	return dst
}

// scanTable returns the latest live reading of a table among the readings that had arrived by AsOf. Stores
// cannot exclude later arrivals, so scanTable reads the table backward, from the latest event time that such
// a reading can have. A search by event time stops at the first such reading. A search by arrival continues
// to the start of the table.
func (l *latest) scanTable(ctx context.Context, t *planned) (pick varve.Reading, found bool, cost store.Cost, err error) {
	all := l.q.all()
	all.Order = varve.Descending
	if to := t.asOf.Add(grid.MaxFuture + 1); to.Before(all.Window.To) {
		all.Window.To = to
	}
	r := all.rangeOf(t.Table, l.plan.layout, nil, 0)
	r.Damaged = l.damage.collect(l.q.SkipDamaged)
	var higher varve.Position // position of the last reading that counts; lower versions of it may follow
	for {
		page, err := l.e.opts.Reader.Read(ctx, r, nil)
		cost.Add(page.Cost)
		if err != nil {
			return pick, false, cost, err
		}
		for i := range page.Readings {
			c := &page.Readings[i]
			if !t.counts(c) {
				continue
			}
			superseded := c.Position().IsVersionOf(higher)
			higher = c.Position()
			switch {
			case superseded:
			case l.q.By == varve.ByEvent:
				return *c, true, cost, nil
			case !found || l.q.By.Later(c, &pick):
				pick, found = *c, true
			}
		}
		if !page.More {
			return pick, found, cost, nil
		}
		last := page.Readings[len(page.Readings)-1].Position()
		r.After = &last
	}
}
