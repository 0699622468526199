package mem

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Erase implements store.Eraser.
func (s *Store) Erase(ctx context.Context, e store.Erasure) (erased int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	tb, err := s.table(e.Table)
	if err != nil {
		return 0, err
	}
	if err := store.Erasable(&tb.info); err != nil {
		return 0, err
	}
	rows := slices.DeleteFunc(tb.rows[e.Series], func(r *varve.Reading) bool {
		if !e.Covers(r.Time, r.Arrived) {
			return false
		}
		erased++
		tb.info.Bytes -= int64(r.Size())
		return true
	})
	if tb.rows[e.Series] = rows; len(rows) == 0 {
		delete(tb.rows, e.Series)
	}
	tb.info.Readings -= erased
	s.countChange(e.Series)
	return erased, nil
}

// ErasureDelay implements store.Eraser.
func (s *Store) ErasureDelay() time.Duration { return 0 }

// PurgeItems implements store.Eraser. Deleted items leave nothing in memory.
func (s *Store) PurgeItems(ctx context.Context, _ []string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.check(ctx)
}
