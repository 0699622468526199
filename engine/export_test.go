package engine

// ArchiveTables runs the background job of the archive once.
func (e *Engine) ArchiveTables() { e.archiveTables() }

// WaitForFirst waits for the jobs that run once, at the start.
func (e *Engine) WaitForFirst() { e.first.Wait() }
