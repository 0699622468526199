package store

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// BlockReader is an optional interface of a Reader that holds readings as columns.
type BlockReader interface {
	// ReadBlocks is like Read, but may return the first readings of a page as columns.
	ReadBlocks(ctx context.Context, r Range, dst []varve.Reading) (BlockPage, error)
}

// BlockPage is a page whose first readings are columns.
type BlockPage struct {
	Parts []block.Part // not empty; the readings of the page follow them
	Page
	// Release, if not nil, must be called once, after the last use of Parts. Their texts stay
	// valid.
	Release func()
}
