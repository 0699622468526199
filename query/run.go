package query

import (
	"sort"

	"github.com/varvedb/varve"
)

// minRun is the minimum number of consecutive readings that are returned without copying.
const minRun = 16

// liveRun returns the live readings among the next n of a table, up to the limit. The result may be
// empty.
func (r *Rows) liveRun(s *source, n int) []varve.Reading {
	page := s.page[:n]
	if r.left > 0 && len(page) > r.left {
		page = page[:r.left]
	}
	if _, most := r.bounds(); s.size > most {
		page = page[:fitting(page, most)]
	}
	s.page = s.page[len(page):]
	live := 0
	for i := range page {
		if page[i].Alive(s.cutoff) {
			if live != i {
				// Swapped, not copied: each element keeps its memory for the next page.
				page[live], page[i] = page[i], page[live]
			}
			live++
		}
	}
	r.expired += len(page) - live
	r.count(live)
	return page[:live]
}

// isAlone reports whether no other table can have readings up to the end of a source's page.
func (r *Rows) isAlone(s *source) bool {
	for _, o := range r.sources {
		if o != s && (len(o.page) > 0 || o.more) {
			return false
		}
	}
	return !r.reachesNext(s.page[len(s.page)-1].Position())
}

// reachesNext reports whether the next table that is not open can hold a reading at or before a
// position.
func (r *Rows) reachesNext(p varve.Position) bool {
	return r.opened < len(r.plan.tables) && r.reaches(&r.plan.tables[r.opened], p)
}

// leading returns the number of readings on a source's page that are before the readings of all
// other tables. Positions with the event time of another table's reading do not count. It returns 0
// for fewer than minRun readings, unless the source is alone.
func (r *Rows) leading(s *source) int {
	if r.isAlone(s) {
		return len(s.page)
	}
	if len(s.page) < minRun || !r.leads(s, minRun-1) {
		return 0
	}
	return sort.Search(len(s.page), func(i int) bool { return !r.leads(s, i) })
}

// leads reports whether the i-th reading of a page is before the readings of other tables.
func (r *Rows) leads(s *source, i int) bool {
	at := s.page[i].Position()
	for _, o := range r.sources {
		switch {
		case o == s:
		case len(o.page) == 0 && o.more:
			return false
		case len(o.page) > 0:
			t := o.page[0].Time.UnixNano()
			if r.q.Order == varve.Descending && at.Time <= t || r.q.Order != varve.Descending && at.Time >= t {
				return false
			}
		}
	}
	return !r.reachesNext(at)
}
