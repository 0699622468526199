package local

import (
	"cmp"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
)

// content is what the rows of a memtable refer to: bodies and field names. It only grows, so a
// copy can be read without the lock.
type content struct {
	bodies bodies
	shapes [][]string // lists of field names
}

// id returns the id of a row. It computes a content id.
func (c *content) id(w row) varve.ID {
	if id := c.bodies.id(w.at); !id.IsZero() {
		return id
	}
	var r varve.Reading
	if err := c.read(w, 0, &r, new(chunk.Arena)); err != nil {
		panic(err) // only this process has written the body
	}
	return r.ContentID()
}

// compare orders a row and a position. The zero id is first.
func (c *content) compare(w row, p varve.Position) int {
	switch {
	case w.time != p.Time:
		return cmp.Compare(w.time, p.Time)
	case p.ID.IsZero():
		return 1
	}
	return c.id(w).Compare(p.ID)
}

// read fills r, whose series is set, from a row. The zero id means the content id.
func (c *content) read(w row, base int64, r *varve.Reading, arena *chunk.Arena) error {
	r.Time = time.Unix(0, w.time).UTC()
	return readBody(c.bodies.from(w.at), base, c.shapes[w.shape], r, arena)
}

// view is a copy of rows that can be read without the lock.
type view struct {
	content
	series varve.Series
	base   int64
	rows   []row
}

// viewOf returns a view of rows of a series buffer. The caller holds the lock.
func (h *head) viewOf(t *tail, rows []row) *view {
	return &view{content: h.content, series: t.series, base: t.table.base(), rows: rows}
}

func (v *view) Len() int            { return len(v.rows) }
func (v *view) Time(i int) int64    { return v.rows[i].time }
func (v *view) ID(i int) varve.ID   { return v.id(v.rows[i]) }
func (v *view) Derived(i int) bool  { return v.bodies.from(v.rows[i].at)[0] == idDerived }
func (v *view) Arrived(i int) int64 { return bodyArrived(v.bodies.from(v.rows[i].at), v.base) }

func (v *view) Fill(i int, r *varve.Reading, arena *chunk.Arena) error {
	err := v.fillStored(i, r, arena)
	setID(r)
	return err
}

// fillStored is like Fill, but leaves a content id at zero.
func (v *view) fillStored(i int, r *varve.Reading, arena *chunk.Arena) error {
	r.Series = v.series
	return v.read(v.rows[i], v.base, r, arena)
}
