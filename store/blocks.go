package store

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// BlockReader is an optional interface of a Reader that can return readings as columns.
type BlockReader interface {
	// ReadBlocks is like Read, but may return the first readings of a page in blocks.
	ReadBlocks(ctx context.Context, r Range, dst []varve.Reading) (BlockPage, error)
}

// BlockPage is a page whose first readings are in blocks.
type BlockPage struct {
	Parts []block.Part // non-empty parts of blocks, with the first readings of the page; Page.Readings has the others
	Page
	// Release, if not nil, must be called once, after the last use of Parts. Strings from Parts
	// remain valid after that call.
	Release func()
}
