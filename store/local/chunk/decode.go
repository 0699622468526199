package chunk

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// Header is the part of a chunk that can be read without decoding the readings.
type Header struct {
	Count      int
	MinTime    int64 // ns since 1970
	MaxTime    int64 // ns since 1970
	MaxArrived int64 // ms since 1970
}

// ReadHeader reads the header of an encoded chunk.
func ReadHeader(data []byte) (Header, error) {
	s := source{data: data}
	h := s.header()
	return h, s.err
}

// maxCount limits the memory that is allocated for a damaged count of readings. Real chunks are far
// smaller.
const maxCount = 1 << 16

func (s *source) header() Header {
	if s.byte() != version {
		s.fail()
		return Header{}
	}
	n := s.uvarint()
	first := s.varint()
	last := first + int64(s.uvarint())
	h := Header{Count: int(n), MinTime: first, MaxTime: last, MaxArrived: s.varint()}
	if n == 0 || n > maxCount || last < first {
		s.fail()
	}
	return h
}

// Chunk is a decoded chunk: readings of one series in the order of their positions. Decode reuses
// the memory of the previous content. Only one goroutine at a time may use a Chunk.
type Chunk struct {
	Header
	Block block.Block

	encoded []byte        // encoded coefficients of all columns of numbers, for DecodeNumbers
	scratch varve.Reading // memory for the method ID
	arena   Arena
}

// Decode decodes a chunk of a series, except for the coefficients of scaled numbers. It checks and copies
// these coefficients, and they are decoded when their column is used. The result shares no memory with the
// argument "data".
func (c *Chunk) Decode(series varve.Series, data []byte) error {
	s := source{data: data}
	c.Header = s.header()
	c.Block.Series = series
	if s.err != nil {
		return s.err
	}
	n := c.Count
	c.Block.Times = slices.Grow(c.Block.Times[:0], n)[:n]
	c.Block.Arrived = slices.Grow(c.Block.Arrived[:0], n)[:n]
	step := int64(s.uvarint())
	s.ints(c.Block.Times)
	for i := range c.Block.Times {
		c.Block.Times[i] = c.MinTime + c.Block.Times[i]*step
	}
	relative := s.byte() == 1
	s.ints(c.Block.Arrived)
	if relative {
		for i := range c.Block.Arrived {
			c.Block.Arrived[i] += floorMilli(c.Block.Times[i])
		}
	}
	c.decodeIDs(&s)
	c.decodeFields(&s)
	if s.err == nil && len(s.data) != 0 {
		s.fail()
	}
	return s.err
}

func (c *Chunk) decodeIDs(s *source) {
	c.Block.IDs = c.Block.IDs[:0]
	if s.byte() == 0 {
		return
	}
	for range c.Count {
		var id varve.ID
		switch s.byte() {
		case idDerived:
		case idHash:
			if b := s.bytes(8); b != nil {
				id = varve.HashID(binary.LittleEndian.Uint64(b))
			}
		case idText:
			var err error
			if id, err = varve.ParseID(string(s.bytes(s.uvarint()))); err != nil {
				s.fail()
			}
		case idKey:
			var err error
			if id, err = varve.ParseKey(string(s.bytes(s.uvarint()))); err != nil {
				s.fail()
			}
		default:
			s.fail()
		}
		if s.err != nil {
			return
		}
		c.Block.IDs = append(c.Block.IDs, id)
	}
}

func (c *Chunk) decodeFields(s *source) {
	n := s.uvarint()
	if n > uint64(len(s.data)) {
		s.fail()
		return
	}
	c.Block.Columns = slices.Grow(c.Block.Columns[:0], int(n))[:n]
	c.encoded = c.encoded[:0]
	for i := range c.Block.Columns {
		decoder{&c.Block.Columns[i], c}.decode(s)
		if s.err != nil {
			return
		}
	}
	// The fields of readings must be sorted by name, so the columns must be, too.
	slices.SortFunc(c.Block.Columns, func(a, b block.Column) int { return strings.Compare(a.Name, b.Name) })
}

// Len returns the number of readings.
func (c *Chunk) Len() int { return c.Count }

// Time returns the event time of a reading in nanoseconds since 1970.
func (c *Chunk) Time(i int) int64 { return c.Block.Times[i] }

// Arrived returns the arrival of a reading in milliseconds since 1970.
func (c *Chunk) Arrived(i int) int64 { return c.Block.Arrived[i] }

// Fill sets r to the i-th reading. It reuses the fields of r if possible, or else takes memory from
// the arena. Fill never fails, because Decode finds all damage. It returns an error only to
// implement an interface of package local.
func (c *Chunk) Fill(i int, r *varve.Reading, arena *Arena) error {
	c.fill(i, r, arena)
	return nil
}

func (c *Chunk) fill(i int, r *varve.Reading, arena *Arena) {
	r.Fields = arena.Fields(r.Fields, c.Block.CountFields(i))
	c.Block.Fill(i, r)
}

// Derived reports whether the id of a reading is its content id.
func (c *Chunk) Derived(i int) bool {
	_, own := c.Block.OwnID(i)
	return !own
}

// ID returns the id of a reading.
func (c *Chunk) ID(i int) varve.ID {
	if id, own := c.Block.OwnID(i); own {
		return id
	}
	c.fill(i, &c.scratch, &c.arena)
	return c.scratch.ID
}
