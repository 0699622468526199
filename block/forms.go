package block

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/contentid"
)

// Forms computes the ids of a block's readings. Call Reset before the first use.
type Forms struct {
	block *Block
	names [][]byte // canonical form of the name of each column
	forms []byte   // canonical forms of several readings, one after the other
	ends  []int    // for each reading, the end of its form in "forms", or -1 if a client chose its id
	ids   []varve.ID
	found [2]foundID // the last two results of ID: callers request the ids of a range's two ends once per column
}

type foundID struct {
	row int // index of the reading plus 1; 0 means that no id is remembered
	id  varve.ID
}

// Reset makes f compute the ids of another block.
func (f *Forms) Reset(b *Block) {
	f.block, f.found = b, [2]foundID{}
	for len(f.names) < len(b.Columns) {
		f.names = append(f.names, nil)
	}
	for i := range b.Columns {
		f.names[i] = contentid.AppendName(f.names[i][:0], b.Columns[i].Name)
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
// All forms are written before the first one is hashed, because reading bytes that were just
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
	for j := range f.block.Columns {
		c := &f.block.Columns[j]
		if c.Encoded != nil {
			c.Decode()
		}
		if c.Plain {
			dst = contentid.AppendScaled(append(dst, f.names[j]...), c.Coefs[i], int(c.Least))
		} else if c.Has(i) {
			dst = varve.AppendCanonicalValue(append(dst, f.names[j]...), c.Value(i))
		}
	}
	return dst
}
