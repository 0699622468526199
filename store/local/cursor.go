package local

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// rows are readings of one series in the order of their positions.
type rows interface {
	Len() int
	Time(i int) int64    // ns since 1970
	Arrived(i int) int64 // ms since 1970
	ID(i int) varve.ID
	Derived(i int) bool // the id is the content id
	Fill(i int, r *varve.Reading, arena *chunk.Arena) error
}

// span is the range of a series that a read requests: inclusive times, a position to continue
// after, and an order.
type span struct {
	first, last int64
	after       *varve.Position
	desc        bool
}

// spanOf returns the span of a range, or false if it is empty.
func spanOf(r *store.Range) (span, bool) {
	all := varve.AllTime()
	from, to := r.Window.From, r.Window.To
	if from.Before(all.From) {
		from = all.From
	}
	if to.After(all.To) {
		to = all.To
	}
	if !from.Before(to) {
		return span{}, false
	}
	sp := span{first: from.UnixNano(), last: to.UnixNano() - 1, after: r.After, desc: r.Order == varve.Descending}
	if r.After != nil && sp.desc {
		sp.last = min(sp.last, r.After.Time)
	} else if r.After != nil {
		sp.first = max(sp.first, r.After.Time)
	}
	return sp, sp.first <= sp.last
}

// bounds returns the range [from, to) of rows in the span.
func (sp *span) bounds(rs rows) (from, to int) {
	n := rs.Len()
	from = sort.Search(n, func(i int) bool { return rs.Time(i) >= sp.first })
	to = from + sort.Search(n-from, func(i int) bool { return rs.Time(from+i) > sp.last })
	if sp.after == nil {
		return from, to
	}
	// The position itself is excluded if it exists.
	at := from + sort.Search(to-from, func(i int) bool { return comparePosition(rs, from+i, *sp.after) >= 0 })
	switch {
	case sp.desc:
		return from, at
	case at < to && comparePosition(rs, at, *sp.after) == 0:
		return at + 1, to
	default:
		return at, to
	}
}

func comparePosition(rs rows, i int, p varve.Position) int {
	if t := rs.Time(i); t != p.Time {
		return cmp.Compare(t, p.Time)
	}
	return rs.ID(i).Compare(p.ID)
}

// rowsOf returns copies of the rows of a run in the span, limited to the first most in its
// order.
func (sp *span) rowsOf(r *run, most int) []row {
	from, to := r.seek(varve.Position{Time: sp.first}), r.end()
	if sp.last < math.MaxInt64 {
		to = r.seek(varve.Position{Time: sp.last + 1})
	}
	if sp.after != nil {
		at, found := r.find(*sp.after)
		switch {
		case sp.desc && at.orLater(to) == to:
			to = at
		case !sp.desc:
			if found {
				at.i++
			}
			from = from.orLater(at)
		}
	}
	if sp.desc {
		return r.lastOf(most, from, to)
	}
	return r.first(most, from, to)
}

// cursor is a position in rows. When the rows end, more may return further ones.
type cursor struct {
	rows rows
	i    int
	left int
	step int
	more func() (rows, error)
}

// newCursor returns a cursor over the rows in the span.
func newCursor(rs rows, sp *span) cursor {
	c := cursor{}
	c.turn(rs, sp)
	return c
}

func (c *cursor) turn(rs rows, sp *span) {
	from, to := sp.bounds(rs)
	c.rows, c.left, c.i, c.step = rs, to-from, from, 1
	if sp.desc {
		c.i, c.step = to-1, -1
	}
}

func (c *cursor) next() {
	c.i += c.step
	c.left--
}

// fillUp moves the cursor to its next reading, if it has one.
func (c *cursor) fillUp(sp *span) error {
	for c.left == 0 && c.more != nil {
		rs, err := c.more()
		if err != nil {
			return err
		}
		if rs == nil {
			c.more = nil
			return nil
		}
		c.turn(rs, sp)
	}
	return nil
}

// merge returns the readings of several cursors in order, without repeats.
type merge struct {
	span
	cursors []cursor
	iter    *pebble.Iterator // of the chunks; nil if no chunks are read
	cost    store.Cost

	borrowed []*chunk.Chunk // returned to the pool by Close
}

// Close releases the memory of the merge, which must not be used afterwards.
func (m *merge) Close() error {
	for _, c := range m.borrowed {
		chunks.Put(c)
	}
	m.borrowed, m.cursors = nil, nil
	if m.iter == nil {
		return nil
	}
	return m.iter.Close()
}

// first returns the cursor with the next reading, or nil at the end. It skips copies of that
// reading in other cursors.
func (m *merge) first() (*cursor, error) {
	var best *cursor
	for i := range m.cursors {
		c := &m.cursors[i]
		if err := c.fillUp(&m.span); err != nil {
			return nil, err
		}
		if c.left == 0 {
			continue
		}
		if best == nil {
			best = c
			continue
		}
		switch order := m.compare(c, best); {
		case order < 0:
			best = c
		case order == 0:
			c.next()
			if err := c.fillUp(&m.span); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}

// compare orders the readings of two cursors by the order of the span.
func (m *merge) compare(a, b *cursor) int {
	order := cmp.Compare(a.rows.Time(a.i), b.rows.Time(b.i))
	if order == 0 {
		order = a.rows.ID(a.i).Compare(b.rows.ID(b.i))
	}
	if m.desc {
		return -order
	}
	return order
}

// fill appends up to want readings to dst. It reports whether more readings remain.
func (m *merge) fill(ctx context.Context, dst []varve.Reading, want int) (_ []varve.Reading, more bool, err error) {
	var arena chunk.Arena
	for {
		c, err := m.first()
		if err != nil {
			return dst, false, err
		}
		if c == nil || len(dst) == want {
			return dst, c != nil, nil
		}
		if len(dst)&0xff == 0 && ctx.Err() != nil {
			return dst, false, context.Cause(ctx)
		}
		// The common case of a single cursor needs no comparison.
		n := 1
		if m.alone(c) {
			n = min(c.left, want-len(dst))
		}
		for range n {
			if len(dst) < cap(dst) {
				dst = dst[:len(dst)+1] // reuses the memory of its fields
			} else {
				dst = append(dst, varve.Reading{})
			}
			if err := c.rows.Fill(c.i, &dst[len(dst)-1], &arena); err != nil {
				return dst, false, fmt.Errorf("read a chunk: %w", err)
			}
			c.next()
		}
	}
}

func (m *merge) alone(c *cursor) bool {
	for i := range m.cursors {
		if d := &m.cursors[i]; d != c && (d.left > 0 || d.more != nil) {
			return false
		}
	}
	return true
}
