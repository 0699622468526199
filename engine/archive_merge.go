package engine

import (
	"context"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// mergeArchives merges the archives of dropped tables if Archive.Merge is set. Otherwise, it only completes
// earlier merges. If a table is restored meanwhile, its archive may be merged, too.
func (e *Engine) mergeArchives(ctx context.Context, infos []store.Info) error {
	existing := make([]grid.Table, len(infos))
	for i := range infos {
		existing[i] = infos[i].Table
	}
	begin := time.Now()
	done, err := e.Archiver.Merge(ctx, existing, e.archives.opts.Merge)
	tables := 0
	for i := range done {
		tables += len(done[i].Tables)
	}
	e.archives.mu.Lock()
	e.archives.stats.Merged += int64(tables)
	e.archives.mu.Unlock()
	if len(done) > 0 || err != nil {
		e.archives.opts.Merged(done, time.Since(begin), err)
	}
	return err
}
