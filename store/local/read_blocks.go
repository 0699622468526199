package local

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// ReadBlocks implements store.BlockReader. It returns consecutive readings of a chunk or a memtable
// as columns, unless they are few.
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
		var next *cursor
		if page.Readings, next, err = m.fill(ctx, dst[:0], want-n, true); next != nil {
			page.More, page.Split = true, next.isVersionOf(parts, page.Readings)
			page.Apart = next.isApart(parts, page.Readings)
		}
	}
	page.Cost = m.cost
	if err != nil && page.Release != nil {
		page.Release()
		page.Parts, page.Release = nil, nil
	}
	return page, err
}

// releaser returns a function that puts chunks back into the pool. Without chunks, it returns nil.
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
