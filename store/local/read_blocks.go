package local

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// ReadBlocks implements store.BlockReader. Consecutive readings of a chunk are returned as columns,
// unless they are few.
func (rd *reader) ReadBlocks(ctx context.Context, r store.Range, dst []varve.Reading) (page store.BlockPage, err error) {
	if err := rd.db.life.enter(ctx); err != nil {
		return store.BlockPage{}, err
	}
	defer rd.db.life.leave()
	defer func() { err = damaged(err, r.Table, r.Series) }()
	want := r.Limit
	if want <= 0 {
		want = pageReadings
	}
	page.Readings = dst[:0]
	m, err := rd.merge(&r, want)
	if err != nil || m == nil {
		return page, err
	}
	defer func() { err = closing(err, m) }()
	parts, n, err := m.addParts(ctx, want)
	page.Parts, page.Release = parts, releaser(m.lent)
	if err == nil {
		page.Readings, page.More, err = m.fill(ctx, dst[:0], want-n, true)
	}
	page.Cost = m.cost
	if err != nil && page.Release != nil {
		page.Release()
		page.Parts, page.Release = nil, nil
	}
	return page, err
}

// releaser returns a function that returns chunks to the pool.
func releaser(lent []*chunk.Chunk) func() {
	if len(lent) == 0 {
		return nil
	}
	return func() {
		for _, c := range lent {
			chunks.Put(c)
		}
	}
}
