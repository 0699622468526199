package wire

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// maxGroup is the maximum number of rows that form one reading in the long form.
const maxGroup = varve.MaxFields

// maxDeviceColumns is the maximum number of columns if the columns are devices. A row adds a reading for
// each of them, even to a batch that is nearly full.
const maxDeviceColumns = BatchReadings

// longForm reads files with one row per value. Consecutive rows with the same time, device, id and
// version form a group, which is one reading:
//
//	device,time,metric,value
//	s1,2026-04-20T14:00:00Z,temperature,22.4   ──▶ s1: temperature=22.4 humidity=45
//	s1,2026-04-20T14:00:00Z,humidity,45
//
// A row with a repeated name begins another group, and a group has at most maxGroup rows. Each other
// column of a row is a further field. The name of this field joins the name of the value and the name of
// the column with a dot, as in temperature.unit.
type longForm struct {
	key      []string // cells with the time, device, id and version of the open group; empty if no group is open
	from     int      // index of the group's first field in the memory of the batch
	names    []string // names of the values in the group: see groupName
	size     int      // bytes of the names and texts of the group's fields
	rows     int
	deferred *deferredRow // the row with which the next batch begins, if set
	memory   deferredRow
}

// deferredRow is a row that was read when the batch was full.
type deferredRow struct {
	cells [][]byte
	line  int
}

// keyUse reports whether a column with the given use is part of the key of a group.
func keyUse(u use) bool { return u == useTime || u == useDevice || u == useID || u == useVersion }

// isNext reports whether a row belongs to the group. Its time, device, id and version must be the same,
// its name must be new, and the group must have fewer than maxGroup rows.
func (l *longForm) isNext(roles []role, cells [][]byte) bool {
	if !l.isOpen() || len(cells) != len(roles) || l.rows >= maxGroup {
		return false
	}
	n := 0
	for i := range roles {
		switch {
		case keyUse(roles[i].use):
			if l.key[n] != string(cells[i]) {
				return false
			}
			n++
		case roles[i].use == useName && slices.Contains(l.names, groupName(cells[i])):
			return false
		}
	}
	return true
}

func (l *longForm) start(roles []role, cells [][]byte) {
	l.key, l.names, l.size, l.rows = l.key[:0], l.names[:0], 0, 0
	for i := range roles {
		if keyUse(roles[i].use) {
			l.key = append(l.key, string(cells[i]))
		}
	}
}

// isOpen reports whether the next row may belong to the group.
func (l *longForm) isOpen() bool { return len(l.key) > 0 }

// end ends the group: the next row begins another one.
func (l *longForm) end() { l.key = l.key[:0] }

// longRow adds a row of the long form to the batch. If the row begins a group and the batch is full, it
// defers the row to the next batch and returns false.
func (c *csvReader) longRow(b *Batch, cells [][]byte, line int) bool {
	l := &c.long
	if !l.isNext(c.roles, cells) {
		if l.end(); b.Full() {
			l.memory = deferredRow{cells, line}
			l.deferred = &l.memory
			return false
		}
		from := b.begin()
		if !c.row(b, cells, line) {
			return true
		}
		l.start(c.roles, cells)
		l.from = from
	}
	l.rows++
	name, value := c.named(cells, useName), c.named(cells, useValue)
	l.names = append(l.names, groupName(name))
	last := b.Len() - 1
	v := c.longFields(b, name, value, cells)
	b.end(l.from, &b.Readings[last])
	if b.Verdicts[last].Outcome == 0 {
		b.Verdicts[last] = v
	}
	return true
}

// named returns the cell of the column with the given use, or nil without such a column.
func (c *csvReader) named(cells [][]byte, u use) []byte {
	for i := range c.roles {
		if c.roles[i].use == u {
			return cells[i]
		}
	}
	return nil
}

// groupName returns the name of a value. A name that is too long for a field is cut, so that the rows of a
// group need little memory.
func groupName(name []byte) string { return string(name[:min(len(name), varve.MaxFieldBytes+1)]) }

// longFields adds the value of a row, and its other columns.
func (c *csvReader) longFields(b *Batch, name, value []byte, cells [][]byte) (verdict varve.Verdict) {
	if len(name) == 0 {
		return varve.Reject(varve.CodeFieldInvalid, "the name of the field is empty")
	}
	if len(c.present(value)) == 0 {
		return verdict // without a value, the other columns have nothing to describe
	}
	verdict = c.longField(b, name, nil, value, c.Kinds[c.Value])
	for i := range c.roles {
		r, cell := &c.roles[i], c.present(cells[i])
		if r.use != useField || len(cell) == 0 {
			continue
		}
		if v := c.longField(b, name, r, cell, r.kind); verdict.Outcome == 0 {
			verdict = v
		}
	}
	return verdict
}

// longField adds one cell of a row as a field. If r is nil, the cell is the value. Otherwise, it is in the
// column r.
//
// If a group reaches the limits of a reading, it gets no further fields. Otherwise it could fill the
// memory, because the size of the batch is not checked within a group.
func (c *csvReader) longField(b *Batch, name []byte, r *role, cell []byte, kind varve.Kind) (v varve.Verdict) {
	l, n, column := &c.long, len(name), ""
	if r != nil {
		n += 1 + len(r.name)
		column = "." + r.name[:min(len(r.name), varve.MaxFieldBytes)]
	}
	switch {
	case n > varve.MaxFieldBytes:
		return varve.Reject(varve.CodeFieldInvalid, "field name %s has %d bytes, the limit is %d", quote.Text(groupName(name)+column), n, varve.MaxFieldBytes)
	case len(b.fields)-l.from >= varve.MaxFields:
		return varve.Reject(varve.CodeFieldInvalid, "the reading has more fields than the limit, %d", varve.MaxFields)
	case l.size > varve.MaxReadingBytes:
		return varve.Reject(varve.CodeTooLarge, "the reading has more bytes than the limit, %d", varve.MaxReadingBytes)
	}
	before := b.size
	v = c.addField(b, b.names.get(name)+column, cell, kind)
	l.size += max(0, b.size-before-fieldBytes)
	return v
}

// wideRow adds a row of a body with columns for devices. Each cell of these columns becomes a reading,
// unless the cell has no value or is skipped as a bad cell.
func (c *csvReader) wideRow(b *Batch, cells [][]byte, line int) {
	if len(cells) != len(c.roles) {
		c.row(b, cells, line)
		return
	}
	common := varve.Reading{Time: c.Arrival}
	if at := c.replacedTime(); !at.IsZero() {
		common.Time = at
	}
	var bad varve.Verdict
	c.version = 0
	for i := range c.roles {
		if r := &c.roles[i]; r.use == useTime || r.use == useID || r.use == useVersion {
			if v := c.cell(b, &common, r, c.present(cells[i])); v.Outcome != 0 && bad.Outcome == 0 {
				bad = v
			}
		}
	}
	if v := setVersion(&common, c.version); bad.Outcome == 0 {
		bad = v
	}
	for i := range c.roles {
		role, cell := &c.roles[i], c.present(cells[i])
		if role.use != useField || len(cell) == 0 {
			continue
		}
		skipped := b.SkippedCells
		from := b.begin()
		v := c.addField(b, c.DeviceColumns, cell, role.kind)
		if b.SkippedCells > skipped {
			continue
		}
		r := b.add(line)
		r.Tenant, r.Stream, r.Device, r.Time, r.ID = c.Tenant, c.Stream, role.name, common.Time, common.ID
		b.end(from, r)
		if bad.Outcome != 0 {
			v = bad
		}
		b.reject(v)
	}
}

// present returns a cell, or nil if the cell stands for a missing value.
func (c *csvReader) present(cell []byte) []byte {
	if c.isNull(cell) {
		return nil
	}
	return cell
}

// IsReshaped reports whether the rows of a file are not one reading each.
func (c *Columns) IsReshaped() bool { return c.Name != "" || c.DeviceColumns != "" }

// keyColumns returns, for the long form, the indexes of the columns that identify a reading. For other
// files, it returns nil.
func (c *Columns) keyColumns(names []string) (key []int) {
	if c.Name == "" {
		return nil
	}
	for _, name := range []string{orDefault(c.Time, among(names, "time", "timestamp")), c.DeviceColumn(names, false), orDefault(c.ID, "id"), VersionColumn} {
		if i := slices.Index(names, name); i >= 0 {
			key = append(key, i)
		}
	}
	return key
}

// group returns the length in bytes of the first buffered rows that have the same time, device, id and
// version in the long form. These rows are one reading, or several if a name is repeated. The
// argument "first" is the first buffered line.
func (r *rowReader) group(first []byte, names []string, key []int) int {
	n, bad := r.row(first, len(names))
	if bad != nil || len(r.cells) != len(names) {
		return n
	}
	keyOf := func() string {
		var b strings.Builder
		for _, i := range key {
			b.Write(r.cells[i])
			b.WriteByte('\n')
		}
		return b.String()
	}
	same := keyOf()
	next := n // the offset of the next line; n excludes blank lines at the end
	for rows := 1; rows < maxGroup && next-n < maxLine; {
		line, err := r.buffer.peek(next)
		if len(line) == 0 || err != nil && !errors.Is(err, io.EOF) {
			break
		}
		next += len(line)
		if len(trimBlanks(line)) == 0 {
			continue
		}
		if r.split(line) != nil || len(r.cells) != len(names) || keyOf() != same {
			break
		}
		n, rows = next, rows+1
	}
	return n
}
