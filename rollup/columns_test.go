package rollup_test

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/storetest"
)

// ReadBlocks implements store.BlockReader. If h.readings is true, it returns readings instead of
// blocks.
func (h *hooked) ReadBlocks(ctx context.Context, r store.Range, dst []varve.Reading) (page store.BlockPage, err error) {
	if h.readings {
		page.Page, err = h.Read(ctx, r, dst)
		return page, err
	}
	return storetest.ReadBlocks(ctx, h, r, dst)
}
