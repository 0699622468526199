package engine

import "context"

// ArchiveTables runs the background job of the archive once.
func (e *Engine) ArchiveTables() { e.archiveTables() }

// WaitForFirst waits for the jobs that run once, at the start.
func (e *Engine) WaitForFirst() { e.first.Wait() }

// AloneWithArchives calls a function while it holds the lease of archives.
func (e *Engine) AloneWithArchives(ctx context.Context, do func()) error {
	return aloneWithArchives(e)(ctx, func(context.Context) error {
		do()
		return nil
	})
}
