package memtable

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// packed holds the columns of consecutive rows of a row block in few bytes. In the cache, only its field
// "at" changes. So any goroutine can unpack it.
type packed struct {
	home    *rowBlock
	inserts uint32 // value of rowBlock.inserts when the rows were packed
	first   int    // index in the row block of the first row
	n       int    // number of rows

	data           []byte // bytes of the offsets of all packed integers
	times, arrived packedInts
	ids            []varve.ID
	columns        []packedColumn
	bytes          int64 // approximate size in memory

	at int // index in Cache.entries; the lock of the cache guards it
}

// packedColumn is a column whose integers are packed. The field "values" has no Exps and Coefs.
type packedColumn struct {
	values      block.Column
	exps, coefs packedInts
}

// packedInts describes integers as a line and an offset of each integer from the line. All sums may
// overflow, because unpacking overflows in the same way.
type packedInts struct {
	base, step uint64 // integer i is base + i × step + offset i
	n          int
	at         int // index in packed.data of the first offset
	width      int // bytes of an offset: 0, 1, 2, 4 or 8
}

// Approximate sizes of parts of a packed block, in bytes.
const (
	packedBytes       = 250
	packedColumnBytes = 350
	packedIDBytes     = 32
	packedTextBytes   = 16
	packedWideBytes   = 32
)

// packBlock returns the packed columns of a block. The memory of the block can be reused afterward.
func packBlock(b *block.Block) *packed {
	p := &packed{n: b.Len(), ids: slices.Clone(b.IDs), columns: make([]packedColumn, len(b.Columns))}
	p.times, p.arrived = p.packInts(b.Times, true), p.packInts(b.Arrived, true)
	p.bytes = packedBytes
	for i := range b.IDs {
		p.bytes += packedIDBytes + int64(len(b.IDs[i].Key()))
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		p.columns[i] = packedColumn{
			values: block.Column{
				Name: c.Name, Kind: c.Kind, Kinds: slices.Clone(c.Kinds), Slots: slices.Clone(c.Slots),
				Plain: c.Plain, Least: c.Least, Most: c.Most,
				Wide: slices.Clone(c.Wide), Bools: slices.Clone(c.Bools), Texts: slices.Clone(c.Texts),
			},
			exps: p.packInts(c.Exps, false), coefs: p.packInts(c.Coefs, false),
		}
		p.bytes += packedColumnBytes + int64(len(c.Kinds)+4*len(c.Slots)+packedWideBytes*len(c.Wide)+len(c.Bools))
		for _, text := range c.Texts {
			p.bytes += packedTextBytes + int64(len(text))
		}
	}
	p.data = slices.Clone(p.data)
	p.bytes += int64(len(p.data))
	return p
}

// packInts appends the offsets of integers to p.data. If linear is true, the line has the mean slope
// of the integers. Otherwise it is flat.
func (p *packed) packInts(list []int64, linear bool) packedInts {
	x := packedInts{n: len(list), at: len(p.data)}
	if x.n == 0 {
		return x
	}
	first := uint64(list[0])
	if linear && x.n > 1 {
		x.step = uint64((list[x.n-1] - list[0]) / int64(x.n-1))
	}
	least, most, line := int64(0), int64(0), first
	for _, v := range list {
		offset := int64(uint64(v) - line)
		least, most, line = min(least, offset), max(most, offset), line+x.step
	}
	x.base = first + uint64(least)
	x.width = widthOf(uint64(most) - uint64(least))
	p.data = slices.Grow(p.data, x.n*x.width)[:x.at+x.n*x.width]
	x.putOffsets(p.data[x.at:], list)
	return x
}

func (x *packedInts) putOffsets(data []byte, list []int64) {
	line := x.base
	switch x.width {
	case 1:
		for i, v := range list {
			data[i] = byte(uint64(v) - line)
			line += x.step
		}
	case 2:
		for i, v := range list {
			binary.LittleEndian.PutUint16(data[2*i:], uint16(uint64(v)-line))
			line += x.step
		}
	case 4:
		for i, v := range list {
			binary.LittleEndian.PutUint32(data[4*i:], uint32(uint64(v)-line))
			line += x.step
		}
	case 8:
		for i, v := range list {
			binary.LittleEndian.PutUint64(data[8*i:], uint64(v)-line)
			line += x.step
		}
	}
}

// widthOf returns the number of bytes of offsets up to "most".
func widthOf(most uint64) int {
	switch n := bits.Len64(most); {
	case n == 0:
		return 0
	case n <= 8:
		return 1
	case n <= 16:
		return 2
	case n <= 32:
		return 4
	default:
		return 8
	}
}

// unpackInts returns the integers i with from <= i < to. It reuses the memory of dst.
func (p *packed) unpackInts(dst []int64, x *packedInts, from, to int) []int64 {
	n := to - from
	dst = slices.Grow(dst[:0], n)[:n]
	data := p.data[x.at+from*x.width : x.at+to*x.width]
	line, step := x.base+uint64(from)*x.step, x.step
	switch x.width {
	case 0:
		for i := range dst {
			dst[i] = int64(line)
			line += step
		}
	case 1:
		for i := range data {
			dst[i] = int64(line + uint64(data[i]))
			line += step
		}
	case 2:
		for i := range dst {
			dst[i] = int64(line + uint64(binary.LittleEndian.Uint16(data[2*i:])))
			line += step
		}
	case 4:
		for i := range dst {
			dst[i] = int64(line + uint64(binary.LittleEndian.Uint32(data[4*i:])))
			line += step
		}
	default:
		for i := range dst {
			dst[i] = int64(line + binary.LittleEndian.Uint64(data[8*i:]))
			line += step
		}
	}
	return dst
}

// unpack sets b to the columns of the packed rows i with from <= i < to. It reuses the memory of b. The
// caller sets the series of b.
func (p *packed) unpack(from, to int, b *block.Block) {
	b.Times = p.unpackInts(b.Times, &p.times, from, to)
	b.Arrived = p.unpackInts(b.Arrived, &p.arrived, from, to)
	b.IDs = b.IDs[:0]
	if len(p.ids) > 0 {
		b.IDs = append(b.IDs, p.ids[from:to]...)
	}
	b.Columns = slices.Grow(b.Columns[:0], len(p.columns))[:len(p.columns)]
	rows := &packedRows{p, from, to}
	for i := range p.columns {
		c := &b.Columns[i]
		p.unpackColumn(&p.columns[i], from, to, c)
		if p.columns[i].coefs.n > 0 {
			c.Encoded, c.At = rows, i
		}
	}
}

// unpackColumn sets dst to a column of the packed rows i with from <= i < to.
func (p *packed) unpackColumn(c *packedColumn, from, to int, dst *block.Column) {
	old, v := *dst, &c.values
	clear(old.Texts)
	*dst = block.Column{
		Name: v.Name, Kind: v.Kind, Kinds: old.Kinds[:0], Slots: old.Slots[:0],
		Plain: v.Plain, Exps: old.Exps[:0], Coefs: old.Coefs[:0], Least: v.Least, Most: v.Most,
		Wide: old.Wide[:0], Bools: append(old.Bools[:0], v.Bools...), Texts: old.Texts[:0],
	}
	if len(v.Kinds) > 0 {
		dst.Kinds = append(dst.Kinds, v.Kinds[from:to]...)
	}
	first, last := from, to // indexes of the values of the rows; if the column has Slots, of all values
	switch {
	case len(v.Slots) > 0:
		dst.Slots = append(dst.Slots, v.Slots[from:to]...)
		first, last = 0, p.n
	case len(v.Bools) > 0:
		for i := from; i < to; i++ {
			// dst.Bools has the booleans of all packed rows, so the slot of row i is i.
			dst.Slots = append(dst.Slots, int32(i))
		}
	}
	dst.Wide = append(dst.Wide, v.Wide[min(first, len(v.Wide)):min(last, len(v.Wide))]...)
	dst.Texts = append(dst.Texts, v.Texts[min(first, len(v.Texts)):min(last, len(v.Texts))]...)
}

type packedRows struct {
	*packed
	from, to int // the range has the rows i with from <= i < to
}

// DecodeNumbers implements block.Decoder. If the column has Slots, it decodes the numbers of all rows,
// because the slots refer to them.
func (r *packedRows) DecodeNumbers(dst *block.Column) {
	c := &r.columns[dst.At]
	first, last := r.from, r.to
	if len(c.values.Slots) > 0 {
		first, last = 0, c.coefs.n
	}
	dst.Exps = r.unpackInts(dst.Exps, &c.exps, first, last)
	dst.Coefs = r.unpackInts(dst.Coefs, &c.coefs, first, last)
}
