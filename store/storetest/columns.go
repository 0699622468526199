package storetest

import (
	"context"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// ReadBlocks reads a page as store.BlockReader does, with all its readings in one block. With it,
// packages that use blocks can be tested with any store.
func ReadBlocks(ctx context.Context, s store.Reader, r store.Range, dst []varve.Reading) (page store.BlockPage, err error) {
	page.Page, err = s.Read(ctx, r, dst)
	n := len(page.Readings)
	if err != nil || n == 0 {
		return page, err
	}
	if r.Order == varve.Descending {
		slices.Reverse(page.Readings)
	}
	var b chunk.Builder
	for i := range page.Readings {
		b.Add(&page.Readings[i], !page.Readings[i].HasOwnID())
	}
	c := new(chunk.Chunk)
	err = c.Decode(r.Series, b.AppendTo(nil))
	page.Parts, page.Readings = []block.Part{{Block: &c.Block, To: n, Desc: r.Order == varve.Descending}}, nil
	return page, err
}
