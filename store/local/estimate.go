package local

import (
	"context"
	"fmt"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// Estimate implements store.Reader. The cost is one request, and the number of chunks in the
// range.
func (rd *reader) Estimate(ctx context.Context, r store.Range) (cost store.Cost, err error) {
	if err := rd.db.life.enter(ctx); err != nil {
		return cost, err
	}
	defer rd.db.life.leave()
	defer func() { err = damaged(err, r.Table, r.Series) }()
	m, err := rd.merge(&r, 1)
	cost.Requests = 1
	if err != nil || m == nil {
		return cost, err
	}
	defer func() { err = closing(err, m) }()
	if m.iter == nil {
		return cost, nil
	}
	for ok := m.iter.First(); ok; ok = m.iter.Next() {
		value, err := m.iter.ValueAndErr()
		if err != nil {
			return cost, err
		}
		h, err := chunk.ReadHeader(value)
		if err != nil {
			return cost, fmt.Errorf("%s: %w", r.Series, err)
		}
		if h.MaxTime >= m.span.first && h.MinTime <= m.span.last {
			cost.Units++
		}
	}
	return cost, m.iter.Error()
}
