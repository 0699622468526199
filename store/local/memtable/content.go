package memtable

import (
	"cmp"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
)

// Content holds the bodies and field names to which rows refer. It only grows, so a copy can be read
// without the lock of its shard.
type Content struct {
	bodies bodies
	shapes [][]string // lists of field names; a row has the index of its list
}

// id returns the id of a row. If that is the content id, it is computed from the fields.
func (c *Content) id(w Row) varve.ID {
	if id := c.bodies.id(w.at); !id.IsZero() {
		return id
	}
	var r varve.Reading
	if err := c.read(w, 0, &r, new(chunk.Arena)); err != nil {
		panic(err) // impossible, because this process has encoded the body
	}
	return r.ContentID()
}

// compare orders a row and a position. A position with the zero id precedes all rows of its time.
func (c *Content) compare(w Row, p varve.Position) int {
	switch {
	case w.Time != p.Time:
		return cmp.Compare(w.Time, p.Time)
	case p.ID.IsZero():
		return 1
	}
	return c.id(w).Compare(p.ID)
}

// read fills r from a row. The series of r must be set. If the id is the content id, r gets the
// zero id.
func (c *Content) read(w Row, base int64, r *varve.Reading, arena *chunk.Arena) error {
	r.Time = time.Unix(0, w.Time).UTC()
	return ReadBody(c.bodies.from(w.at), base, c.shapes[w.shape], r, arena)
}

// Names returns the field names that have the given index.
func (c *Content) Names(shape uint32) []string { return c.shapes[shape] }

// View returns a view of rows of a series. The base is the start of the table's arrival month in ms since
// 1970. The caller holds the lock of the shard.
func (c *Content) View(series varve.Series, base int64, rows []Row) *View {
	return &View{Content: *c, series: series, base: base, rows: rows}
}

// View returns a view of selected rows of a series, which uses the cache of the memtable. The base is the
// start of the table's arrival month in ms since 1970. The caller holds the lock of the shard.
func (m *Shard) View(series varve.Series, base int64, s *Selection) *View {
	v := m.Content.View(series, base, s.rows)
	v.selection = s
	if m.cache.Bytes > 0 {
		v.cache = m.cache
	}
	return v
}

// Release makes the memory of a view of a selection available to other views. The view must not be
// used afterward.
func (v *View) Release() {
	if v.selection != nil {
		v.selection.release()
	}
	v.selection, v.rows = nil, nil
}

// View is a copy of rows that can be read without the lock of their shard.
type View struct {
	Content
	series varve.Series
	base   int64
	rows   []Row

	selection *Selection // the selection of the rows; nil if the view was not made from one
	cache     *Cache     // nil if columns are not cached
}

// Len returns the number of rows.
func (v *View) Len() int { return len(v.rows) }

// Time returns the event time of row i in ns since 1970.
func (v *View) Time(i int) int64 { return v.rows[i].Time }

// ID returns the id of row i.
func (v *View) ID(i int) varve.ID { return v.id(v.rows[i]) }

// Derived reports whether the id of row i is the content id.
func (v *View) Derived(i int) bool { return !HasOwnID(v.bodies.from(v.rows[i].at)) }

// Arrived returns the arrival of row i in ms since 1970.
func (v *View) Arrived(i int) int64 { return bodyArrived(v.bodies.from(v.rows[i].at), v.base) }

// Fill fills r from row i.
func (v *View) Fill(i int, r *varve.Reading, arena *chunk.Arena) error {
	err := v.FillStored(i, r, arena)
	SetID(r)
	return err
}

// FillStored is like Fill, but leaves a content id at zero.
func (v *View) FillStored(i int, r *varve.Reading, arena *chunk.Arena) error {
	r.Series = v.series
	return v.read(v.rows[i], v.base, r, arena)
}
