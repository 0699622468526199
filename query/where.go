package query

import (
	"context"
	"slices"

	"github.com/varvedb/varve"
)

// nextMatching returns the matching readings of the next page, without the fields that the query
// does not request. It also returns the number of readings before Where selected some of them.
func (r *Rows) nextMatching(ctx context.Context) (readings []varve.Reading, scanned int, err error) {
	readings, err = r.next(ctx)
	scanned = len(readings)
	if len(r.q.Where) > 0 {
		readings = r.match(readings)
	}
	r.project(readings)
	return readings, scanned, err
}

// match returns the readings of a page that Where selects, up to the limit. It sets r.more when the
// query has reached its limit or its scan limit.
func (r *Rows) match(page []varve.Reading) []varve.Reading {
	if len(page) == 0 {
		return nil
	}
	n := 0
	for i := range page {
		if r.q.Limit > 0 && r.matched == r.q.Limit {
			r.last, r.more = page[n-1].Position(), true
			return page[:n]
		}
		r.scanned++
		if len(r.unseen) > 0 {
			r.unseen = slices.DeleteFunc(r.unseen, func(name string) bool { return !page[i].Field(name).IsZero() })
		}
		if r.q.Where.Matches(&page[i]) {
			if n != i {
				// Swapped, not copied: each element keeps its memory for the next page.
				page[n], page[i] = page[i], page[n]
			}
			n, r.matched = n+1, r.matched+1
		}
	}
	// Whether further readings exist is unknown here. The next page may be empty.
	r.more = r.q.Limit > 0 && r.matched == r.q.Limit || r.q.ScanLimit > 0 && r.scanned >= r.q.ScanLimit
	return page[:n]
}

// Compared reports whether readings were compared with Where.
func (r *Rows) Compared() bool { return r.scanned > 0 }

// UnseenFields returns the fields of Where that none of the compared readings had. It returns none
// if no reading was compared.
func (r *Rows) UnseenFields() []string {
	if !r.Compared() {
		return nil
	}
	return r.unseen
}

// project removes fields that the query does not request.
func (r *Rows) project(readings []varve.Reading) {
	if len(r.q.Fields) == 0 {
		return
	}
	for i := range readings {
		readings[i].Fields = slices.DeleteFunc(readings[i].Fields, func(f varve.Field) bool {
			return !slices.Contains(r.q.Fields, f.Name)
		})
	}
}
