package memtable

import (
	"cmp"
	"math"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
)

// Columns sets b to the readings of the rows i with from <= i < to. It reuses the memory of b.
func (v *View) Columns(from, to int, b *block.Block) error {
	b.Series, b.IDs = v.series, b.IDs[:0]
	times, arrived := slices.Grow(b.Times[:0], to-from)[:to-from], slices.Grow(b.Arrived[:0], to-from)[:to-from]
	b.Times, b.Arrived = times, arrived
	c := columns{block: b}
	for i, w := range v.rows[from:to] {
		if i%ahead == 0 {
			v.touch(v.rows[from+i : min(from+i+ahead, to)])
		}
		if i == 0 || w.shape != c.shape {
			c.setShape(w.shape, v.shapes[w.shape])
		}
		body := bodyReader{data: v.bodies.from(w.at)}
		c.addID(i, body.id())
		times[i], arrived[i] = w.Time, v.base+body.varint()
		for _, at := range c.fields {
			body.addTo(&c.all[at], i)
		}
		if body.err != nil {
			return body.err
		}
	}
	b.Columns = b.Columns[:0]
	for i := range c.all {
		c.all[i].finish(to - from)
		b.Columns = append(b.Columns, c.all[i].Column)
	}
	slices.SortFunc(b.Columns, func(a, b block.Column) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// ahead is the maximum number of bodies that one call of the method "touch" loads.
const ahead = 64

// touch reads a byte of each body, to load the bodies into the cache of the processor. The bodies of
// a series are far apart, so most reads wait for memory. In this loop, the processor waits for several
// of them at a time. If the function were inlined, the compiler would remove the unused sum.
//
//go:noinline
func (v *View) touch(rows []Row) (sum byte) {
	for _, w := range rows {
		sum += v.bodies.from(w.at)[0]
	}
	return sum
}

// columns collects the columns of a block, row by row.
type columns struct {
	block  *block.Block
	all    []columnBuilder // builders of the columns, in the order of their first values
	shape  uint32
	fields []int // for each field of the shape, the index of its column
}

// setShape sets the field names of the next rows, and finds or creates their columns.
func (c *columns) setShape(shape uint32, names []string) {
	c.shape, c.fields = shape, c.fields[:0]
	for _, name := range names {
		at := slices.IndexFunc(c.all, func(b columnBuilder) bool { return b.Name == name })
		if at < 0 {
			at = len(c.all)
			c.all = append(c.all, columnBuilder{Column: c.emptyColumn(at, name)})
		}
		c.fields = append(c.fields, at)
	}
}

// addID adds the id of row i. If no row so far has an id that a client chose, the block stays
// without ids.
func (c *columns) addID(i int, id varve.ID) {
	b := c.block
	if id.IsZero() && len(b.IDs) == 0 {
		return
	}
	for len(b.IDs) < i {
		b.IDs = append(b.IDs, varve.ID{})
	}
	b.IDs = append(b.IDs, id)
}

// emptyColumn returns a column without values. It reuses the memory of column i of the block.
func (c *columns) emptyColumn(i int, name string) block.Column {
	all := c.block.Columns[:cap(c.block.Columns)]
	if i >= len(all) {
		return block.Column{Name: name}
	}
	old := &all[i]
	clear(old.Texts)
	return block.Column{
		Name: name, Kinds: old.Kinds[:0], Slots: old.Slots[:0], Exps: old.Exps[:0], Coefs: old.Coefs[:0],
		Wide: old.Wide[:0], Bools: old.Bools[:0], Texts: old.Texts[:0],
	}
}

// columnBuilder adds values to a column. Until finish is called, each coefficient in Coefs has its own
// exponent in Exps, and Least and Most are not set.
type columnBuilder struct {
	block.Column
	bools int // number of booleans
}

// addTo decodes the next value of a body, and adds it to a column as the value of row i.
func (b *bodyReader) addTo(c *columnBuilder, i int) {
	if b.at+1 < len(b.data) && b.data[b.at]&(1<<tagBits-1) <= tagNegative && b.data[b.at]>>tagBits != expFollows {
		tag := b.data[b.at]
		b.at++
		if coef := b.uvarint(); coef <= maxCoef {
			if len(c.Slots) > 0 || len(c.Coefs) != i || c.Kind != varve.KindNumber {
				c.place(i, varve.KindNumber, len(c.Coefs)+len(c.Wide))
			}
			c.addScaled(int64(coef)*(1-2*int64(tag&tagNegative)), -int64(tag>>tagBits))
		} else {
			c.add(i, b.number(tag&tagNegative != 0, 0, coef, -int64(tag>>tagBits)))
		}
		return
	}
	c.add(i, b.value())
}

// maxCoef is the largest coefficient of a scaled number.
const maxCoef = 1 << 60

// add adds the value of row i. The zero value, which is the result of damage, is ignored.
func (c *columnBuilder) add(i int, v varve.Value) {
	switch kind := v.Kind(); kind {
	case 0:
	case varve.KindNumber:
		c.place(i, kind, len(c.Coefs)+len(c.Wide))
		n := v.Number()
		if coef, exp, ok := n.Scaled(); ok && coef <= maxCoef && coef >= -maxCoef {
			c.addScaled(coef, int64(exp))
			return
		}
		c.widen()
		c.Wide = append(c.Wide, n)
	case varve.KindBool:
		c.place(i, kind, c.bools)
		if c.bools%8 == 0 {
			c.Bools = append(c.Bools, 0)
		}
		if v.Bool() {
			c.Bools[c.bools/8] |= 1 << (c.bools % 8)
		}
		c.bools++
	default:
		c.place(i, kind, len(c.Texts))
		c.Texts = append(c.Texts, v.Text())
	}
}

func (c *columnBuilder) addScaled(coef, exp int64) {
	if len(c.Wide) > 0 {
		c.Wide = append(c.Wide, decimal.FromScaled(coef, int(exp)))
		return
	}
	c.Coefs = append(c.Coefs, coef) // two statements are faster than one that assigns both
	c.Exps = append(c.Exps, exp)
}

// widen converts the numbers of the column from Coefs and Exps to Wide.
func (c *columnBuilder) widen() {
	for i, coef := range c.Coefs {
		c.Wide = append(c.Wide, decimal.FromScaled(coef, int(c.Exps[i])))
	}
	c.Coefs, c.Exps = c.Coefs[:0], c.Exps[:0]
}

// place records the kind of the value of row i, and its index among the numbers, the booleans or the
// texts. The indexes are in Column.Slots. A column with a value of one kind in each row has no Slots.
func (c *columnBuilder) place(i int, kind varve.Kind, slot int) {
	if c.Kind == 0 {
		c.Kind = kind
	}
	if len(c.Slots) == 0 && slot == i && kind == c.Kind {
		return
	}
	c.spread(i)
	c.Slots = append(c.Slots, int32(slot))
	if len(c.Kinds) == 0 && kind == c.Kind {
		return
	}
	for len(c.Kinds) < i {
		c.Kinds = append(c.Kinds, byte(c.Kind))
	}
	c.Kinds = append(c.Kinds, byte(kind))
}

// spread sets Column.Slots for the first n rows. Rows without the field have -1.
func (c *columnBuilder) spread(n int) {
	if len(c.Slots) == 0 {
		for slot := range c.count() {
			c.Slots = append(c.Slots, int32(slot))
		}
	}
	for len(c.Slots) < n {
		c.Slots = append(c.Slots, -1)
	}
	for len(c.Kinds) > 0 && len(c.Kinds) < n {
		c.Kinds = append(c.Kinds, byte(c.Kind))
	}
}

// count returns the number of values while the column has no Slots.
func (c *columnBuilder) count() int {
	switch c.Kind {
	case varve.KindNumber:
		return len(c.Coefs) + len(c.Wide)
	case varve.KindBool:
		return c.bools
	default:
		return len(c.Texts)
	}
}

func (c *columnBuilder) finish(n int) {
	if len(c.Slots) > 0 || c.count() < n {
		c.spread(n)
	}
	if len(c.Coefs) == 0 {
		return
	}
	c.Least, c.Most = slices.Min(c.Exps), slices.Max(c.Exps)
	if c.Least != c.Most && !c.scale() {
		c.widen()
		return
	}
	c.Plain = c.Kind == varve.KindNumber && len(c.Slots) == 0 && c.Least == c.Most
}

// scale scales all coefficients to the smallest exponent. If one of them does not fit, it returns
// false and does not change the column.
func (c *columnBuilder) scale() bool {
	for i, coef := range c.Coefs {
		power, ok := decimal.PowerOf10(c.Exps[i] - c.Least)
		if !ok || coef > math.MaxInt64/power || coef < -math.MaxInt64/power {
			return false
		}
	}
	for i := range c.Coefs {
		power, _ := decimal.PowerOf10(c.Exps[i] - c.Least) // the first loop has checked that the power exists
		c.Coefs[i] *= power
	}
	return true
}
