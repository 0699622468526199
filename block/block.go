package block

import (
	"time"

	"github.com/varvedb/varve"
)

// Block has readings of one series, in the order of their positions. Only one goroutine at a time may
// use a Block, because the first use of a column may decode its numbers.
type Block struct {
	Series  varve.Series
	Times   []int64    // event times in nanoseconds since 1970
	Arrived []int64    // arrivals in milliseconds since 1970
	IDs     []varve.ID // empty if every id is the content id; a zero element stands for the content id of its reading
	Columns []Column   // sorted by name
}

// Len returns the number of readings.
func (b *Block) Len() int { return len(b.Times) }

// OwnID returns the id that a client chose for reading i, or false if the id is the content id.
func (b *Block) OwnID(i int) (varve.ID, bool) {
	if len(b.IDs) == 0 || b.IDs[i].IsZero() {
		return varve.ID{}, false
	}
	return b.IDs[i], true
}

// CountFields returns the number of fields of reading i.
func (b *Block) CountFields(i int) int {
	n := 0
	for j := range b.Columns {
		if b.Columns[j].Has(i) {
			n++
		}
	}
	return n
}

// Fill sets r to reading i. It reuses the memory of r.Fields if the fields of the reading fit. It reserves no
// memory for columns without a value, because a block may have far more columns than a reading has fields.
func (b *Block) Fill(i int, r *varve.Reading) {
	r.Series = b.Series
	r.Time = time.Unix(0, b.Times[i]).UTC()
	r.Arrived = time.UnixMilli(b.Arrived[i]).UTC()
	n := b.CountFields(i)
	if cap(r.Fields) < n {
		r.Fields = make([]varve.Field, n)
	}
	r.Fields = r.Fields[:n]
	n = 0
	for j := range b.Columns {
		if c := &b.Columns[j]; c.Has(i) {
			r.Fields[n].Name, r.Fields[n].Value = c.Name, c.Value(i)
			n++
		}
	}
	if id, own := b.OwnID(i); own {
		r.ID = id
	} else {
		r.ID = r.ContentID()
	}
}

// HasFields reports whether reading i has exactly the given fields, which are sorted by name.
func (b *Block) HasFields(i int, fields []varve.Field) bool {
	n := 0
	for j := range b.Columns {
		v := b.Columns[j].Value(i)
		if v.IsZero() {
			continue
		}
		if n == len(fields) || fields[n].Name != b.Columns[j].Name || !fields[n].Value.Equal(v) {
			return false
		}
		n++
	}
	return n == len(fields)
}

// Part is a range of a block's readings, in ascending or descending order.
type Part struct {
	*Block
	From, To int  // the part has the readings in [From, To)
	Desc     bool // if true, the order is descending, from To-1 down to From
}

// Len returns the number of readings in the part.
func (p *Part) Len() int { return p.To - p.From }

// Row converts k, the index of a reading in the part, to the index of the reading in the block.
func (p *Part) Row(k int) int {
	if p.Desc {
		return p.To - 1 - k
	}
	return p.From + k
}

// Cut splits the part into its first n readings and the rest.
func (p *Part) Cut(n int) (first, rest Part) {
	first, rest = *p, *p
	if p.Desc {
		first.From, rest.To = p.To-n, p.To-n
	} else {
		first.To, rest.From = p.From+n, p.From+n
	}
	return first, rest
}

// LastTime returns the event time of the last reading. The part must not be empty.
func (p *Part) LastTime() int64 { return p.Times[p.Row(p.Len()-1)] }

// HasVersions reports whether a reading of the part has a version.
func (p *Part) HasVersions() bool {
	if len(p.IDs) == 0 {
		return false
	}
	for i := p.From; i < p.To; i++ {
		if p.IDs[i].Version() > 0 {
			return true
		}
	}
	return false
}

// FirstTime returns the event time of the first reading. The part must not be empty.
func (p *Part) FirstTime() int64 { return p.Times[p.Row(0)] }
