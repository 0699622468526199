package mem

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

var _ store.Expirer = (*Store)(nil)

// DeleteExpired implements store.Expirer.
func (s *Store) DeleteExpired(ctx context.Context, t grid.Table, cutoff func(varve.Series) time.Time, inUse func(event time.Time) bool) (deleted int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	tb, err := s.table(t)
	if err != nil {
		return 0, err
	}
	if err := store.Expirable(&tb.info); err != nil {
		return 0, err
	}
	for series, rows := range tb.rows {
		at := cutoff(series)
		s.countChange(series)
		tb.rows[series] = slices.DeleteFunc(rows, func(r *varve.Reading) bool {
			if r.Alive(at) || inUse != nil && inUse(r.Time) {
				return false
			}
			deleted++
			tb.info.Bytes -= int64(r.Size())
			return true
		})
	}
	tb.info.Readings -= deleted
	return deleted, nil
}
