package archive

import (
	"context"
	"slices"
	"sync"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// SharedReads reads the tables of one query. Tables of one merged archive share its manifest and its row
// groups. SharedReads retains a decoded row group while a table may need it, up to a limit. A dropped row
// group is requested once more. Readers of different tables may be used concurrently.
type SharedReads struct {
	reader   *Reader
	limit    int64 // largest number of retained rows
	mu       sync.Mutex
	merged   map[sharedKey]*sharedGroups
	retained []retainedGroup // row groups of all merged archives, the oldest first
}

// sharedKey identifies a merged archive, and a series in a window.
type sharedKey struct {
	manifest string
	series   varve.Series
	order    varve.Order
	from, to int64
}

// sharedGroups are the row groups of a merged archive that one query reads.
type sharedGroups struct {
	reads     *SharedReads
	mu        sync.Mutex                  // locked before the lock of reads
	manifest  *Manifest                   // manifest of the merged archive; nil before the first read
	all       []group                     // row groups of all tables, in the order of the query
	pending   map[grid.Table]varve.Window // windows of the tables that no reader has begun to read
	left      map[*SeriesReader][]group   // the next row groups of readers that have begun
	estimated map[group]bool
}

// retainedGroup is a decoded row group that a table of the query may need.
type retainedGroup struct {
	of *sharedGroups
	group
	bytes int64        // assumed memory
	block *block.Block // nil if the row group has no readings of the series
}

// sharedRows bounds the decoded rows that one query retains for its other tables. The constant decodedBytes
// bounds their memory. A later read of a dropped row group fetches it once more.
const sharedRows = 2 * fetchRows

// Share returns the reads of one query.
func (r *Reader) Share() *SharedReads {
	return &SharedReads{reader: r, limit: sharedRows, merged: map[sharedKey]*sharedGroups{}}
}

// Open is like Reader.Open. Ranges of one merged archive share row groups if their series, order
// and window are equal.
func (c *SharedReads) Open(rec *Record, rng store.Range) *SeriesReader {
	s := &SeriesReader{reader: c.reader, record: *rec, rng: rng}
	if rec.Merged == "" {
		return s
	}
	key := sharedKey{rec.Manifest, rng.Series, rng.Order, rng.Window.From.UnixNano(), rng.Window.To.UnixNano()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.merged[key] == nil {
		c.merged[key] = &sharedGroups{reads: c, left: map[*SeriesReader][]group{}, estimated: map[group]bool{}}
	}
	s.shared = c.merged[key]
	return s
}

// Estimate is like Reader.Estimate. It does not count requests that an earlier estimate has counted for
// another table.
func (c *SharedReads) Estimate(ctx context.Context, rec *Record, rng store.Range) (requests int, err error) {
	s := c.Open(rec, rng)
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	if s.shared != nil {
		return s.shared.estimate(s.left), nil
	}
	requests = 1 // the request for the manifest
	for left := s.left; len(left) > 0; {
		var r run
		r, left = takeRun(left)
		requests += len(r.ranges(false))
	}
	return requests, nil
}

// estimate returns the number of requests that row groups need. It does not count requests that an earlier
// call has counted.
func (g *sharedGroups) estimate(left []group) (requests int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.estimated) == 0 {
		requests = 1 // the request for the manifest
		g.estimated[group{index: -1}] = true
	}
	for _, one := range left {
		if g.estimated[one] {
			continue
		}
		r := g.runFrom(one)
		requests += len(r.ranges(false))
		for i := r.first; i <= r.last; i++ {
			g.estimated[group{r.file, i}] = true
		}
	}
	return requests
}

// runFrom returns the row groups to read in one request, from the given one on.
func (g *sharedGroups) runFrom(first group) run {
	if at := slices.Index(g.all, first); at >= 0 {
		r, _ := takeRun(g.all[at:])
		return r
	}
	return run{first.file, first.index, first.index}
}

// load sets the manifest, the row groups and the pending tables. The argument s is the first reader of the
// merged archive.
func (g *sharedGroups) load(m *Manifest, s *SeriesReader) error {
	tables, err := m.tables()
	if err != nil {
		return contentError{err}
	}
	g.manifest, g.all, g.pending = m, s.groupsIn(m, s.rng.Window), map[grid.Table]varve.Window{}
	for i, table := range tables {
		w := s.afterIn(clipWindow(s.rng.Window, table.Window()))
		if m.Tables[i].Readings > 0 && w.From.Before(w.To) {
			g.pending[table] = w
		}
	}
	return nil
}

// join registers a reader that begins.
func (g *sharedGroups) join(s *SeriesReader) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setLeft(s, s.left)
}

// leave forgets a reader that failed. If the reader continues, it is registered once more.
func (g *sharedGroups) leave(s *SeriesReader) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setLeft(s, nil)
}

// takeGroup removes the next row group of a reader, and returns its decoded readings. The first reader of a run
// reads it, and the others wait.
func (g *sharedGroups) takeGroup(ctx context.Context, s *SeriesReader) ([]*block.Block, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := s.left[0]
	b, ok := g.reads.find(g, next)
	var d decodedRun
	if !ok {
		var err error
		if d, err = s.decodeRun(ctx, g.runFrom(next)); err != nil {
			return nil, err
		}
		b = d.blocks[next.index-d.first]
	}
	s.left = s.left[1:]
	g.setLeft(s, s.left)
	g.reads.retain(g, &d)
	return []*block.Block{b}, nil
}

// setLeft sets the row groups that a reader still needs, and drops the unneeded row groups. The caller holds
// the lock.
func (g *sharedGroups) setLeft(s *SeriesReader, left []group) {
	delete(g.pending, s.record.Table)
	if g.left[s] = left; len(left) == 0 {
		delete(g.left, s)
	}
	g.reads.dropUnneeded(g)
}

// needs reports whether a table may need a row group. The caller holds the lock.
func (g *sharedGroups) needs(one group) bool {
	for _, left := range g.left {
		if slices.Contains(left, one) {
			return true
		}
	}
	for _, w := range g.pending {
		if one.entry().isIn(w) {
			return true
		}
	}
	return false
}

func (c *SharedReads) find(g *sharedGroups, one group) (b *block.Block, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.indexOf(g, one); at >= 0 {
		return c.retained[at].block, true
	}
	return nil, false
}

func (c *SharedReads) indexOf(g *sharedGroups, one group) int {
	return slices.IndexFunc(c.retained, func(r retainedGroup) bool { return r.of == g && r.group == one })
}

// retain retains the row groups of a run that a table may need. It drops the oldest ones above the limit. The
// caller holds the lock of g.
func (c *SharedReads) retain(g *sharedGroups, d *decodedRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, b := range d.blocks {
		if one := (group{d.file, d.first + i}); g.needs(one) && c.indexOf(g, one) < 0 {
			r := retainedGroup{of: g, group: one, block: b}
			if b != nil {
				r.bytes = d.bytes[i]
			}
			c.retained = append(c.retained, r)
		}
	}
	rows, bytes := int64(0), int64(0)
	for i := range slices.Backward(c.retained) {
		if b := c.retained[i].block; b != nil {
			rows, bytes = rows+int64(b.Len()), bytes+c.retained[i].bytes
		}
		if rows > c.limit || bytes > c.reader.decodedBytes {
			c.retained = slices.Delete(c.retained, 0, i+1)
			return
		}
	}
}

// dropUnneeded drops the row groups of a merged archive that no table needs. The caller holds the lock of g.
func (c *SharedReads) dropUnneeded(g *sharedGroups) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retained = slices.DeleteFunc(c.retained, func(r retainedGroup) bool { return r.of == g && !g.needs(r.group) })
}
