package archive

import "context"

// FilesOf returns the keys of the files of an archive, or nil if its manifest cannot be read.
func (a *Archiver) FilesOf(ctx context.Context, r *Record) []string {
	m, err := a.files.manifest(ctx, r)
	if err != nil {
		return nil
	}
	keys := []string{}
	for _, f := range m.allFiles() {
		keys = append(keys, r.FilesDir()+f.Name)
	}
	return keys
}

// LimitMergedMemory sets the decoded bytes that a merge may have in memory.
func (a *Archiver) LimitMergedMemory(n int64) { a.mergedMemory = n }

// LargestGroup returns the decoded size in bytes of the largest row group of an archive.
func (a *Archiver) LargestGroup(ctx context.Context, r *Record) (int64, error) {
	return a.files.largestGroup(ctx, r)
}

func (c *SharedReads) LimitRows(n int64) { c.limit = n }

// LimitDecoded sets the decoded bytes that a read may have in memory.
func (r *Reader) LimitDecoded(n int64) { r.decodedBytes = n }

func (c *SharedReads) RetainedRows() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.retained {
		if r.block != nil {
			n += int64(r.block.Len())
		}
	}
	return n
}
