package dynamo

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// pageReadings is after how many readings a page without a limit ends.
const pageReadings = 4096

// Read implements store.Reader.
func (s *Store) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	if err := s.enter(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.leave()
	limit := r.Limit
	if limit <= 0 || limit > pageReadings {
		limit = pageReadings
	}
	page := store.Page{Readings: dst[:0]}
	m := s.open(r)
	if m == nil {
		return page, s.exists(ctx, r.Table)
	}
	for len(page.Readings) <= limit {
		list, err := m.next(ctx)
		page.Cost = m.cost()
		if err != nil {
			return store.Page{}, err
		}
		if len(list) == 0 {
			return page, nil
		}
		page.Readings = append(page.Readings, list...)
	}
	page.Readings, page.More = page.Readings[:limit], true
	return page, nil
}

// Latest implements store.Reader. By event it reads from the end until it finds
// one that lives; by arrival it reads the series' rows of the table.
func (s *Store) Latest(ctx context.Context, l store.Latest) (best varve.Reading, found bool, cost store.Cost, err error) {
	if err = s.enter(ctx); err != nil {
		return best, false, cost, err
	}
	defer s.leave()
	r := store.Range{
		Table: l.Table, Series: l.Series, Window: varve.AllTime(), Order: varve.Descending,
		Consistent: l.Consistent, Layout: l.Layout, Damaged: l.Damaged,
	}
	if l.By == varve.ByEvent {
		r.Limit = 1
	}
	m := s.open(r)
	if m == nil {
		return best, false, cost, s.exists(ctx, l.Table)
	}
	for {
		list, err := m.next(ctx)
		if err != nil || len(list) == 0 {
			return best, found, m.cost(), err
		}
		for i := range list {
			dead := !list[i].Time.After(l.Cutoff) && !list[i].Arrived.After(l.Cutoff)
			if !dead && (!found || l.By.Later(&list[i], &best)) {
				best, found = list[i], true
			}
		}
		if found && l.By == varve.ByEvent {
			return best, true, m.cost(), nil
		}
	}
}

// Estimate implements store.Reader, with what it costs at the least: a request
// for each shard, and the smallest that DynamoDB bills for it. How much a series
// has, nobody knows without reading it.
func (s *Store) Estimate(ctx context.Context, r store.Range) (store.Cost, error) {
	if err := s.enter(ctx); err != nil {
		return store.Cost{}, err
	}
	defer s.leave()
	if err := s.exists(ctx, r.Table); err != nil {
		return store.Cost{}, err
	}
	shards := max(r.Layout.Shards, 1)
	units := 0.5
	if r.Consistent {
		units = 1
	}
	return store.Cost{Requests: shards, Units: units * float64(shards)}, nil
}

// exists returns ErrNoTable if there is no such table.
func (s *Store) exists(ctx context.Context, t grid.Table) error {
	_, err := s.describe(ctx, t.Name())
	return err
}
