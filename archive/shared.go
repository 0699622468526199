package archive

import (
	"context"
	"slices"
	"sync"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
)

// SharedReads reads the tables of one query. Tables of one merged archive share its manifest and its row
// groups, so that these are requested once.
type SharedReads struct {
	reader *Reader
	mu     sync.Mutex
	merged map[sharedKey]*sharedGroups
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
	mu        sync.Mutex
	manifest  *Manifest // nil before the first read
	all       []group   // of all tables, in the order of the query
	runs      []sharedRun
	estimated map[group]bool
}

// sharedRun is a decoded run of row groups.
type sharedRun struct {
	run
	blocks []*block.Block
}

// sharedRows bounds the rows of the row groups that one query retains for its other tables.
const sharedRows = 2 * fetchRows

// Share returns the reads of one query.
func (r *Reader) Share() *SharedReads {
	return &SharedReads{reader: r, merged: map[sharedKey]*sharedGroups{}}
}

// Open is like Reader.Open.
func (c *SharedReads) Open(rec *Record, rng store.Range) *SeriesReader {
	s := &SeriesReader{reader: c.reader, record: *rec, rng: rng}
	if rec.Merged == "" {
		return s
	}
	key := sharedKey{rec.Manifest, rng.Series, rng.Order, rng.Window.From.UnixNano(), rng.Window.To.UnixNano()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.merged[key] == nil {
		c.merged[key] = &sharedGroups{estimated: map[group]bool{}}
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
	requests = 1 // the manifest
	for left := s.left; len(left) > 0; {
		var r run
		r, left = takeRun(left)
		requests += len(r.ranges(false))
	}
	return requests, nil
}

// estimate returns the number of further requests that row groups need.
func (g *sharedGroups) estimate(left []group) (requests int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.estimated) == 0 {
		requests = 1 // the manifest
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

// takeGroup removes the next row group of a reader, and returns its decoded readings. The first reader of a run
// reads it, and the others wait.
func (g *sharedGroups) takeGroup(ctx context.Context, s *SeriesReader) ([]*block.Block, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := s.left[0]
	at := slices.IndexFunc(g.runs, func(r sharedRun) bool { return r.has(next) })
	if at < 0 {
		r := g.runFrom(next)
		blocks, err := s.decodeRun(ctx, r)
		if err != nil {
			return nil, err
		}
		g.retain(sharedRun{r, blocks})
		at = len(g.runs) - 1
	}
	s.left = s.left[1:]
	r := &g.runs[at]
	return r.blocks[next.index-r.first:][:1], nil
}

// retain retains a run, and forgets the oldest ones.
func (g *sharedGroups) retain(r sharedRun) {
	g.runs = append(g.runs, r)
	rows := int64(0)
	for i := range slices.Backward(g.runs) {
		rows += g.runs[i].rows()
		if rows > sharedRows && i < len(g.runs)-1 {
			g.runs = slices.Clone(g.runs[i+1:])
			return
		}
	}
}

// has reports whether a run includes a row group.
func (r *run) has(g group) bool { return r.file == g.file && r.first <= g.index && g.index <= r.last }
