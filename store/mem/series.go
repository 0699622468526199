package mem

import (
	"cmp"
	"context"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// seriesPage is the maximum number of series on one page.
const seriesPage = 100

// Series implements store.Enumerator. The token is the text of the last series of a page.
func (s *Store) Series(ctx context.Context, q store.SeriesQuery) (store.SeriesPage, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	page := store.SeriesPage{Cost: store.Cost{Requests: 1}}
	if err := s.check(ctx); err != nil {
		return page, err
	}
	tb, err := s.table(q.Table)
	if err != nil {
		return page, err
	}
	for series, rows := range tb.rows {
		if len(rows) > 0 && (q.After == "" || series.String() > q.After) {
			page.Series = append(page.Series, series)
		}
	}
	slices.SortFunc(page.Series, func(a, b varve.Series) int { return cmp.Compare(a.String(), b.String()) })
	if len(page.Series) > seriesPage {
		page.Series = page.Series[:seriesPage]
		page.Next = page.Series[seriesPage-1].String()
	}
	return page, nil
}
