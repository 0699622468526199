package query

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/filter"
)

// selection selects readings by the filter Where of a query, up to its limits.
type selection struct {
	where     filter.Filter
	limit     int // maximum number of matching readings; 0 means no limit
	scanLimit int // number of compared readings after which the query ends with the page; 0 means no limit
	matched   int
	profile   filter.Profile
}

func newSelection(q *Query) selection {
	return selection{where: q.Where, limit: q.Limit, scanLimit: q.ScanLimit, profile: filter.NewProfile(q.Where)}
}

// selectFrom returns the matching readings of a page, up to the limit, and the number of readings
// that it compared. It reports whether the query has reached its limit or its scan limit. The page
// must not be empty, and the query must not have ended.
func (s *selection) selectFrom(page []varve.Reading) (matching []varve.Reading, compared int, ended bool) {
	n := 0
	for i := range page {
		if s.limit > 0 && s.matched == s.limit {
			return page[:n], i, true
		}
		s.profile.Add(&page[i])
		if s.where.Matches(&page[i]) {
			if n != i {
				// The elements are swapped, so that the next page can reuse the memory of each element.
				page[n], page[i] = page[i], page[n]
			}
			n, s.matched = n+1, s.matched+1
		}
	}
	// If a limit is reached, it is unknown here whether further readings exist. The next page may be empty.
	return page[:n], len(page), s.limit > 0 && s.matched == s.limit || s.scanLimit > 0 && s.profile.Readings >= s.scanLimit
}
