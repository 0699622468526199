// Package mem implements a store in memory, the model of all other stores.
//
// It consists of sorted slices and maps under one lock. So its correctness is easy to see, but it is
// slow. [Store] implements all required contracts of package store, and [New] creates one. The function
// storetest.Compare compares other stores with it, and many tests use it as their store.
//
// Nothing is durable. An operation fails only if the contracts require it, if its context has
// ended, or with [store.ErrClosed] after [Store.Close]. A Store is safe for concurrent use.
package mem

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// Store is an in-memory store. New creates one.
type Store struct {
	tableCalls
	itemCalls
	*state
}

type state struct {
	now func() time.Time

	mu       sync.RWMutex
	closed   bool
	tables   map[string]*table // by name, including tables of other programs
	listed   []*table          // tables whose names can be parsed, ordered by name
	items    map[store.Key]store.Item
	versions store.ItemVersions
	readings store.ReadingVersions
}

var _ store.Store = (*Store)(nil)

// table has the Info of a table, and the readings of each series, sorted by position.
type table struct {
	info store.Info
	rows map[varve.Series][]*varve.Reading // pointers, so that an insertion moves few bytes
}

// New returns an empty store. The function "now" returns the time for expired items and for the
// creation of tables. If nil, it is time.Now.
func New(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	st := &state{now: now, tables: map[string]*table{}, items: map[store.Key]store.Item{}}
	return &Store{tableCalls{st}, itemCalls{st}, st}
}

// Close closes the store. Later calls fail with store.ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// check returns an error if the store is closed or the context has ended. The caller must have
// locked mu.
func (s *state) check(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

// table returns a table that belongs to Varve, or ErrNoTable. The caller must have locked mu.
func (s *state) table(t grid.Table) (*table, error) {
	tb, ok := s.tables[t.Name()]
	if !ok || !tb.info.Owned {
		return nil, fmt.Errorf("%s: %w", t, store.ErrNoTable)
	}
	return tb, nil
}

// Write implements store.Writer.
func (s *Store) Write(ctx context.Context, batches []store.Batch) []store.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]store.Result, len(batches))
	for i, b := range batches {
		if results[i].Err = s.check(ctx); results[i].Err != nil {
			continue
		}
		tb, err := s.table(b.Table)
		if err != nil {
			results[i].Err = err
			continue
		}
		b.SetContentIDs()
		for j := range b.Readings {
			results[i].Verdicts = append(results[i].Verdicts, tb.insert(&b.Readings[j]))
			s.countChange(b.Readings[j].Series)
		}
	}
	return results
}

// countChange counts a change of the readings of a series, which readers see when the caller unlocks mu.
func (s *state) countChange(of varve.Series) {
	c := s.readings.Counter(of)
	c.Begin()
	c.End()
}

// ReadingVersion implements store.VersionedReadings.
func (s *Store) ReadingVersion(of varve.Series) (store.Version, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.readings.ReadingVersion(of)
}

func (t *table) insert(r *varve.Reading) varve.Verdict {
	rows := t.rows[r.Series]
	at, found := find(rows, r.Position())
	if found {
		return store.Repeat(r, rows[at])
	}
	stored := r.Clone()
	t.rows[r.Series] = slices.Insert(rows, at, &stored)
	t.info.Readings++
	t.info.Bytes += int64(r.Size())
	return varve.Verdict{Outcome: varve.Stored}
}

func find(rows []*varve.Reading, p varve.Position) (int, bool) {
	return slices.BinarySearchFunc(rows, p, func(r *varve.Reading, p varve.Position) int {
		return r.Position().Compare(p)
	})
}

// Read implements store.Reader.
func (s *Store) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	rows, err := s.span(ctx, r)
	if err != nil {
		return store.Page{}, err
	}
	page := store.Page{Readings: dst[:0], Cost: store.Cost{Requests: 1}}
	for i := range rows {
		if r.Limit > 0 && len(page.Readings) == r.Limit {
			page.More = true
			page.Split = rows[i].Position().IsVersionOf(page.Readings[r.Limit-1].Position())
			break
		}
		page.Readings = append(page.Readings, rows[i].Clone())
	}
	return page, nil
}

// span returns the readings of a range, in the order of the range. The caller must have locked mu.
func (s *Store) span(ctx context.Context, r store.Range) ([]*varve.Reading, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	tb, err := s.table(r.Table)
	if err != nil {
		return nil, err
	}
	var span []*varve.Reading
	for _, row := range tb.rows[r.Series] {
		if r.Window.Contains(row.Time) && beyond(row.Position(), r) {
			span = append(span, row)
		}
	}
	if r.Order == varve.Descending {
		slices.Reverse(span)
	}
	return span, nil
}

// beyond reports whether a position is after Range.After, in the order of the range. If After is nil,
// it returns true for every position.
func beyond(p varve.Position, r store.Range) bool {
	switch {
	case r.After == nil:
		return true
	case r.Order == varve.Descending:
		return p.Compare(*r.After) < 0
	default:
		return p.Compare(*r.After) > 0
	}
}

// Latest implements store.Reader.
func (s *Store) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	cost := store.Cost{Requests: 1}
	if err := s.check(ctx); err != nil {
		return varve.Reading{}, false, cost, err
	}
	tb, err := s.table(l.Table)
	if err != nil {
		return varve.Reading{}, false, cost, err
	}
	var latest *varve.Reading
	rows := tb.rows[l.Series]
	var higher *varve.Reading // the live reading with the next higher position, or nil
	for i := len(rows) - 1; i >= 0; i-- {
		r := rows[i]
		if !r.Alive(l.Cutoff) {
			continue
		}
		superseded := higher != nil && r.Position().IsVersionOf(higher.Position())
		if higher = r; !superseded && (latest == nil || l.By.Later(r, latest)) {
			latest = r
		}
	}
	if latest == nil {
		return varve.Reading{}, false, cost, nil
	}
	return latest.Clone(), true, cost, nil
}

// Estimate implements store.Reader.
func (s *Store) Estimate(ctx context.Context, r store.Range) (store.Cost, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	rows, err := s.span(ctx, r)
	if err != nil {
		return store.Cost{}, err
	}
	return store.Cost{Requests: 1, Units: float64(len(rows))}, nil
}
