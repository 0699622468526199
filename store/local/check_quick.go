package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store/local/sst"
)

// checkQuickly checks the size, the footer and the index of each file.
func (c *checker) checkQuickly(ctx context.Context, list []part) error {
	for i := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.checkFooter(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkFooter(p *part) error {
	damaged := func(err error) {
		l := lost{From: p.first, To: p.end, File: fileName(p.number), Reason: err.Error()}
		c.report(Problem{File: l.File, Err: err, Losses: c.damage.describe([]lost{l})}, p.number, nil)
	}
	file, err := sst.Open(c.damage.db.folder.fs, c.damage.db.folder.path("pebble", fileName(p.number)), c.damage.db.options)
	switch {
	case pebble.IsCorruptionError(err), errors.Is(err, fs.ErrNotExist):
		damaged(err)
		return nil
	case err != nil:
		return err
	}
	if size := uint64(file.Size()); !p.virtual && size != p.size {
		damaged(fmt.Errorf("it has %d bytes, and was written with %d", size, p.size))
	}
	return file.Close()
}
