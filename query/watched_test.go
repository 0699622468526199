package query_test

import (
	"context"
	"errors"
	"sync"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// watched is a store that counts reads, fails on request, limits pages, and overwrites memory
// that it receives for reuse.
type watched struct {
	*mem.Store
	pages  int // maximum number of readings per page; 0 means no limit
	before func(ctx context.Context, op string, t grid.Table) error

	mu      sync.Mutex
	reads   map[grid.Table]int // number of calls of Read and Latest by table
	filters []store.Filter
	ranges  []store.Range
}

var errBroken = errors.New("broken")

func (s *watched) note(ctx context.Context, op string, t grid.Table) error {
	s.mu.Lock()
	if s.reads == nil {
		s.reads = map[grid.Table]int{}
	}
	if op != "estimate" {
		s.reads[t]++
	}
	before := s.before
	s.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(ctx, op, t)
}

func (s *watched) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	if err := s.note(ctx, "read", r.Table); err != nil {
		return store.Page{}, err
	}
	s.mu.Lock()
	s.ranges = append(s.ranges, r)
	s.mu.Unlock()
	if s.pages > 0 && (r.Limit == 0 || r.Limit > s.pages) {
		r.Limit = s.pages
	}
	page, err := s.Store.Read(ctx, r, nil)
	if err == nil {
		page.Readings = into(dst, page.Readings)
	}
	return page, err
}

// into copies readings into the memory of dst, including their fields. The former contents of
// that memory are lost.
func into(dst, readings []varve.Reading) []varve.Reading {
	dst = dst[:cap(dst)]
	for i := range dst {
		fields := dst[i].Fields[:cap(dst[i].Fields)]
		for j := range fields {
			fields[j] = varve.Field{Name: "overwritten", Value: varve.StringValue("overwritten")}
		}
		dst[i] = varve.Reading{Fields: fields[:0]}
	}
	out := dst[:0]
	for _, r := range readings {
		var fields []varve.Field
		if len(out) < len(dst) {
			fields = dst[len(out)].Fields
		}
		r.Fields = append(fields, r.Fields...)
		out = append(out, r)
	}
	return out
}

func (s *watched) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	if err := s.note(ctx, "latest", l.Table); err != nil {
		return varve.Reading{}, false, store.Cost{}, err
	}
	return s.Store.Latest(ctx, l)
}

func (s *watched) Estimate(ctx context.Context, r store.Range) (store.Cost, error) {
	if err := s.note(ctx, "estimate", r.Table); err != nil {
		return store.Cost{}, err
	}
	return s.Store.Estimate(ctx, r)
}

func (s *watched) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	s.mu.Lock()
	s.filters = append(s.filters, f)
	s.mu.Unlock()
	return s.Store.Tables(ctx, f)
}
