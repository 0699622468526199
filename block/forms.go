package block

import "github.com/varvedb/varve"

// Forms computes the ids of a block's readings. The zero Forms is ready for Reset.
type Forms struct {
	block *Block
	names [][]byte // canonical form of each column's name
	forms []byte   // of several readings
	ends  []int    // of the form of each reading; -1 if it has its own id
	ids   []varve.ID
}

// Reset sets the block.
func (f *Forms) Reset(b *Block) {
	f.block = b
	for len(f.names) < len(b.Columns) {
		f.names = append(f.names, nil)
	}
	for i := range b.Columns {
		f.names[i] = varve.AppendCanonicalName(f.names[i][:0], b.Columns[i].Name)
	}
}

// ID returns the id of reading i.
func (f *Forms) ID(i int) varve.ID {
	p := Part{Block: f.block, From: i, To: i + 1}
	return f.IDs(&p, 0, 1)[0]
}

// IDs returns the ids of the readings k with from <= k < to of a part of the block. They are
// valid until the next call.
//
// All forms are written before the first one is hashed: to read bytes that were just written is
// slow.
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
		ids = append(ids, varve.ContentIDOf(forms[at:end]))
		at = end
	}
	f.forms, f.ends, f.ids = forms, ends, ids
	return ids
}

// appendForm appends the canonical form of reading i.
func (f *Forms) appendForm(dst []byte, i int) []byte {
	for j := range f.block.Columns {
		c := &f.block.Columns[j]
		if c.Plain {
			dst = varve.AppendCanonicalScaled(append(dst, f.names[j]...), c.Coefs[i], int(c.Least))
		} else if c.Has(i) {
			dst = varve.AppendCanonicalValue(append(dst, f.names[j]...), c.Value(i))
		}
	}
	return dst
}
