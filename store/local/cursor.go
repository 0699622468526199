package local

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// rows are readings of one series in the order of their positions.
type rows interface {
	Len() int
	Time(i int) int64    // ns since 1970
	Arrived(i int) int64 // ms since 1970
	ID(i int) varve.ID
	Derived(i int) bool // whether the id is the content id
	Fill(i int, r *varve.Reading, arena *chunk.Arena) error
}

// span is the range of a series that a read requests: inclusive times, a position to continue
// after, and an order.
type span struct {
	first, last int64 // event times in ns since 1970
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

// bounds returns the range of the rows in the span: the indexes i with from <= i < to.
func (sp *span) bounds(rs rows) (from, to int) {
	n := rs.Len()
	from = sort.Search(n, func(i int) bool { return rs.Time(i) >= sp.first })
	to = from + sort.Search(n-from, func(i int) bool { return rs.Time(from+i) > sp.last })
	if sp.after == nil {
		return from, to
	}
	// A row at the position sp.after itself is excluded.
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

// rowsOf returns the rows in the span, sorted by position. If the span has more than "most" rows,
// it returns only the first ones in the order of the span.
func (sp *span) rowsOf(r *memtable.Rows, c *memtable.Content, most int) *memtable.Selection {
	from, to := r.Seek(c, varve.Position{Time: sp.first}), r.End()
	if sp.last < math.MaxInt64 {
		to = r.Seek(c, varve.Position{Time: sp.last + 1})
	}
	if sp.after != nil {
		at, found := r.Find(c, *sp.after)
		switch {
		case sp.desc && at.OrLater(to) == to:
			to = at
		case !sp.desc:
			if found {
				at = at.Next()
			}
			from = from.OrLater(at)
		}
	}
	if sp.desc {
		return r.LastRows(most, from, to)
	}
	return r.FirstRows(most, from, to)
}

// cursor iterates over rows. At their end, it continues with the rows that "more" returns.
type cursor struct {
	span *span
	rows rows
	i    int                  // index of the current row
	left int                  // number of rows left, including the current one
	step int                  // 1, or -1 in descending order
	more func() (rows, error) // returns nil at the end; the function itself is nil if no rows follow
}

func newCursor(rs rows, sp *span) cursor {
	c := cursor{span: sp}
	c.setRows(rs)
	return c
}

func (c *cursor) setRows(rs rows) {
	from, to := c.span.bounds(rs)
	c.rows, c.left, c.i, c.step = rs, to-from, from, 1
	if c.span.desc {
		c.i, c.step = to-1, -1
	}
}

func (c *cursor) next() { c.skip(1) }

func (c *cursor) skip(n int) {
	c.i += n * c.step
	c.left -= n
}

// fillUp gets further rows if the cursor has no reading left.
func (c *cursor) fillUp() error {
	for c.left == 0 && c.more != nil {
		rs, err := c.more()
		if err != nil {
			return err
		}
		if rs == nil {
			c.more = nil
			return nil
		}
		c.setRows(rs)
	}
	return nil
}

// merge returns the readings of several cursors in order, without repeats.
type merge struct {
	span
	cursors []cursor
	iter    *pebble.Iterator // iterator over the chunks; nil if no chunks are read
	prefix  []byte           // prefix of the keys of the chunks
	cost    store.Cost

	borrowed []*chunk.Chunk // chunks from the pool; Close puts them back, except the lent ones
	lent     []*chunk.Chunk // chunks whose columns are in the page; Release of the page puts them back
	views    []*memtable.View
}

// Close releases the memory of the merge, which must not be used afterward.
func (m *merge) Close() error {
	for _, c := range m.borrowed {
		if !slices.Contains(m.lent, c) {
			chunks.Put(c)
		}
	}
	for _, v := range m.views {
		v.Release()
	}
	m.borrowed, m.views, m.cursors = nil, nil, nil
	if m.iter == nil {
		return nil
	}
	return m.iter.Close()
}

// nextCursor returns the cursor with the next reading, or nil at the end. It skips copies of that
// reading in other cursors.
func (m *merge) nextCursor() (*cursor, error) {
	var best *cursor
	for i := range m.cursors {
		c := &m.cursors[i]
		if err := c.fillUp(); err != nil {
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
			if err := c.fillUp(); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}

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

// fill appends readings until dst has the wanted number. It returns the cursor with the next
// reading, or nil at the end. If "columns" is true, it ends before readings that addParts would return
// as columns.
func (m *merge) fill(ctx context.Context, dst []varve.Reading, want int, columns bool) (_ []varve.Reading, next *cursor, err error) {
	var arena chunk.Arena
	checked := -1
	for {
		c, err := m.nextCursor()
		if err != nil {
			return dst, nil, err
		}
		if c == nil || len(dst) == want {
			return dst, c, nil
		}
		if step := len(dst) >> 8; step != checked {
			if checked = step; ctx.Err() != nil {
				return dst, nil, context.Cause(ctx)
			}
		}
		n := m.ahead(c)
		if columns && len(dst) > 0 && n >= minPart {
			return dst, c, nil
		}
		for range min(n, want-len(dst)) {
			if len(dst) < cap(dst) {
				dst = dst[:len(dst)+1] // reuses the memory of the reading that was stored there
			} else {
				dst = append(dst, varve.Reading{})
			}
			if err := c.rows.Fill(c.i, &dst[len(dst)-1], &arena); err != nil {
				return dst, nil, fmt.Errorf("read a chunk: %w", err)
			}
			c.next()
		}
	}
}

// isVersionOf reports whether the next reading of a cursor is another version of the last reading of a
// page.
func (c *cursor) isVersionOf(parts []block.Part, readings []varve.Reading) bool {
	var last varve.Reading
	switch {
	case len(readings) > 0:
		last = readings[len(readings)-1]
	case len(parts) > 0:
		p := &parts[len(parts)-1]
		if p.LastTime() != c.rows.Time(c.i) {
			return false // the common case, in which no ids are needed
		}
		p.Fill(p.Row(p.Len()-1), &last)
	default:
		return false
	}
	return last.Time.UnixNano() == c.rows.Time(c.i) && c.rows.ID(c.i).IsVersionOf(last.ID)
}

// isApart reports whether the next reading of a cursor has another event time than the last reading of a
// page of columns.
func (c *cursor) isApart(parts []block.Part, readings []varve.Reading) bool {
	return len(parts) > 0 && len(readings) == 0 && parts[len(parts)-1].LastTime() != c.rows.Time(c.i)
}

// minPart is the least number of consecutive readings from one chunk or memtable that are returned
// as columns. Tests reduce it.
var minPart = 32

// addParts returns at most "want" of the next readings, as columns. It stops where fewer than minPart
// consecutive readings come from one chunk or memtable.
func (m *merge) addParts(ctx context.Context, want int) (parts []block.Part, n int, err error) {
	for n < want {
		c, err := m.nextCursor()
		if err != nil || c == nil {
			return parts, n, err
		}
		if ctx.Err() != nil {
			return parts, n, context.Cause(ctx)
		}
		ahead := m.ahead(c)
		if ahead < minPart {
			return parts, n, nil
		}
		for end := n + min(ahead, want-n); n < end; {
			p, err := m.part(c, end-n)
			if err != nil {
				return parts, n, err
			}
			parts = append(parts, p)
			c.skip(p.Len())
			n += p.Len()
		}
	}
	return parts, n, nil
}

// part returns some of the next n readings of a cursor as columns. Readings of a memtable are
// converted to columns.
func (m *merge) part(c *cursor, n int) (block.Part, error) {
	from := c.i
	if m.desc {
		from = c.i - n + 1
	}
	ch, ok := c.rows.(*chunk.Chunk)
	if !ok {
		view := c.rows.(*memtable.View)
		from, to := view.Run(from, from+n, m.desc)
		ch = m.chunk()
		if err := view.LoadColumns(from, to, &ch.Block); err != nil {
			return block.Part{}, fmt.Errorf("read from memory: %w", err)
		}
		m.lent = append(m.lent, ch)
		return block.Part{Block: &ch.Block, To: to - from, Desc: m.desc}, nil
	}
	if !slices.Contains(m.lent, ch) {
		m.lent = append(m.lent, ch)
	}
	return block.Part{Block: &ch.Block, From: from, To: from + n, Desc: m.desc}, nil
}

// ahead returns how many readings of a cursor the merge can return before it must compare cursors again.
// It compares only event times. The result is at least 1, because nextCursor has returned the cursor.
func (m *merge) ahead(c *cursor) int {
	n := c.left
	for i := range m.cursors {
		d := &m.cursors[i]
		if d == c || d.left == 0 {
			continue // d has ended: nextCursor has found no further chunks
		}
		limit := d.rows.Time(d.i)
		beyond := func(k int) bool {
			t := c.rows.Time(c.i + k*c.step)
			if m.desc {
				return t <= limit
			}
			return t >= limit
		}
		if n > 1 && beyond(1) {
			return 1 // the common case: readings of several cursors alternate
		}
		n = max(sort.Search(n, beyond), 1)
	}
	return n
}
