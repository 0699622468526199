package local

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// Estimate implements store.Reader. The cost is one request, and one unit for each chunk in the range.
// Estimate fails if a read of the whole range would meet a lost range of keys.
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
	if err := m.checkLevel1(rd.db, &r); err != nil {
		return cost, err
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

// checkLevel1 returns a DamageError if chunks of level 1 that overlap the span may be lost.
func (m *merge) checkLevel1(d *database, r *store.Range) error {
	cr := chunkReader{db: d, iter: m.iter, series: r.Series, prefix: m.prefix, lost: skipLost(r.Damaged, r.Table, r.Series)}
	from, to := cr.level1Start(), cr.spanEnd(&m.span)
	if cr.seekLevel1(m.span.first) && cr.isAtLevel(level1) && cr.isBefore(cr.iter.Key(), m.span.first) {
		from = slices.Clone(cr.iter.Key())
	}
	if err := cr.iter.Error(); err != nil || bytes.Compare(from, to) >= 0 {
		return err
	}
	return cr.intact(from, to)
}
