package block

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/contentid"
	"github.com/varvedb/varve/internal/snippet"
)

// Forms computes the ids of a block's readings. Call Reset before the first use.
type Forms struct {
	block   *Block
	columns []formed // the columns of block; empty until a canonical form is needed
	name    []byte   // canonical form of the name of one column
	forms   []byte   // canonical forms of several readings, one after the other
	ends    []int    // for each reading, the end of its form in "forms", or -1 if a client chose its id
	ids     []varve.ID
	found   [2]foundID // the last two results of ID, because callers request two ids once per column
}

// formed is a column whose values are written in canonical form.
type formed struct {
	*Column
	name snippet.Snippet // canonical form of the name; in a plain column, the tag of a number follows
	last int64           // in a plain column, the coefficient of the previous number
	form decimal.Short   // canonical form of the previous number
}

type foundID struct {
	row int // index of the reading plus 1; 0 means that no id is remembered
	id  varve.ID
}

// Reset makes f compute the ids of another block.
func (f *Forms) Reset(b *Block) {
	f.block, f.columns, f.found = b, f.columns[:0], [2]foundID{}
}

// prepare sets f.columns, and decodes the numbers of all columns.
func (f *Forms) prepare() {
	for i := range f.block.Columns {
		m := formed{Column: &f.block.Columns[i]}
		m.Decode()
		if f.name = contentid.AppendName(f.name[:0], m.Name); m.Plain {
			f.name = contentid.AppendNumberTag(f.name)
			m.setForm(0)
		}
		m.name = snippet.Of(f.name)
		f.columns = append(f.columns, m)
	}
}

// ID returns the id of reading i.
func (f *Forms) ID(i int) varve.ID {
	for _, found := range f.found {
		if found.row == i+1 {
			return found.id
		}
	}
	p := Part{Block: f.block, From: i, To: i + 1}
	id := f.IDs(&p, 0, 1)[0]
	f.found = [2]foundID{{i + 1, id}, f.found[0]}
	return id
}

// IDs returns the ids of the readings in [from, to) of a part of the block. The result is valid until
// the next call.
//
// All canonical forms are written before the first one is hashed, because reading bytes that were just
// written is slow.
func (f *Forms) IDs(p *Part, from, to int) []varve.ID {
	forms, ends := f.forms[:0], f.ends[:0]
	for k := from; k < to; k++ {
		row := p.Row(k)
		if _, own := f.block.OwnID(row); own {
			ends = append(ends, -1)
			continue
		}
		forms = f.appendForm(forms, row)
		ends = append(ends, len(forms))
	}
	ids, at := f.ids[:0], 0
	for k, end := range ends {
		if end < 0 {
			ids = append(ids, f.block.IDs[p.Row(from+k)])
			continue
		}
		ids = append(ids, varve.HashID(contentid.Hash(forms[at:end])))
		at = end
	}
	f.forms, f.ends, f.ids = forms, ends, ids
	return ids
}

// appendForm appends the canonical form of the fields of reading i.
func (f *Forms) appendForm(dst []byte, i int) []byte {
	if len(f.columns) == 0 {
		f.prepare()
	}
	for j := range f.columns {
		c := &f.columns[j]
		if !c.Plain {
			if c.Has(i) {
				dst = varve.AppendCanonicalValue(c.name.AppendTo(dst), c.Value(i))
			}
			continue
		}
		dst = c.name.AppendTo(dst)
		if coef := c.Coefs[i]; coef != c.last {
			c.setForm(coef)
		}
		if c.form.IsZero() {
			dst = decimal.AppendCanonicalScaled(dst, c.last, int(c.Least))
		} else {
			dst = c.form.AppendTo(dst)
		}
	}
	return dst
}

// setForm sets the form of the previous number of a plain column.
func (c *formed) setForm(coef int64) {
	c.last, c.form = coef, decimal.ShortCanonical(coef, int(c.Least))
}
