package chunk

import (
	"encoding/binary"

	"github.com/varvedb/varve"
)

const version = 1

// Builder collects readings of one series and encodes them. It retains their fields until Reset.
// The zero Builder is ready to use.
type Builder struct {
	times   []int64
	arrived []int64 // arrivals in ms since 1970
	ids     []varve.ID
	derived []bool // for each reading, whether its id is the content id
	custom  bool   // whether at least one id is not the content id
	fields  []fieldBuilder
	bytes   int
	scratch []int64
}

// Len returns the number of collected readings.
func (b *Builder) Len() int { return len(b.times) }

// Bytes returns the uncompressed size of the collected readings.
func (b *Builder) Bytes() int { return b.bytes }

// Reset discards the collected readings.
func (b *Builder) Reset() {
	b.times, b.arrived, b.ids, b.derived = b.times[:0], b.arrived[:0], b.ids[:0], b.derived[:0]
	b.custom, b.bytes = false, 0
	for i := range b.fields {
		b.fields[i].reset()
	}
	b.fields = b.fields[:0]
}

// Add adds one reading. Readings must be in the order of their positions. If derived is true, the
// id is the content id.
func (b *Builder) Add(r *varve.Reading, derived bool) {
	b.times = append(b.times, r.Time.UnixNano())
	b.arrived = append(b.arrived, r.Arrived.UnixMilli())
	b.ids = append(b.ids, r.ID)
	b.derived = append(b.derived, derived)
	b.custom = b.custom || !derived
	row := len(b.times) - 1
	for i := range r.Fields {
		b.field(i, r.Fields[i].Name).add(row, r.Fields[i].Value)
	}
	b.bytes += r.Size()
}

// field returns the builder of a named field, and adds it if it is missing. It tries the i-th builder first,
// because successive readings usually have the same field names.
func (b *Builder) field(i int, name string) *fieldBuilder {
	if i < len(b.fields) && b.fields[i].name == name {
		return &b.fields[i]
	}
	for j := range b.fields {
		if b.fields[j].name == name {
			return &b.fields[j]
		}
	}
	if len(b.fields) < cap(b.fields) {
		b.fields = b.fields[:len(b.fields)+1] // reuses the buffers of the field builder
	} else {
		b.fields = append(b.fields, fieldBuilder{})
	}
	f := &b.fields[len(b.fields)-1]
	f.name = name
	return f
}

// AppendTo appends the chunk of the collected readings to dst. At least one reading is required.
func (b *Builder) AppendTo(dst []byte) []byte {
	n := len(b.times)
	first, last := b.times[0], b.times[n-1]
	dst = append(dst, version)
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = binary.AppendVarint(dst, first)
	dst = binary.AppendUvarint(dst, uint64(last-first))
	dst = binary.AppendVarint(dst, maxOf(b.arrived))
	dst = b.appendTimes(dst, first)
	dst = b.appendArrivals(dst)
	dst = b.appendIDs(dst)
	dst = binary.AppendUvarint(dst, uint64(len(b.fields)))
	for i := range b.fields {
		dst = b.fields[i].appendTo(dst, n)
	}
	return dst
}

func maxOf(vals []int64) int64 {
	m := vals[0]
	for _, v := range vals {
		m = max(m, v)
	}
	return m
}

// appendTimes writes times in units of the greatest common divisor of their distances. So times in
// seconds need no space for nanoseconds.
func (b *Builder) appendTimes(dst []byte, first int64) []byte {
	step := int64(0)
	for i := 1; i < len(b.times); i++ {
		step = gcd(step, b.times[i]-b.times[i-1])
	}
	step = max(step, 1)
	b.scratch = b.scratch[:0]
	for _, t := range b.times {
		b.scratch = append(b.scratch, (t-first)/step)
	}
	dst = binary.AppendUvarint(dst, uint64(step))
	return appendInts(dst, b.scratch)
}

func gcd(a, b int64) int64 {
	if a != 0 && b%a == 0 {
		return a
	}
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// appendArrivals writes arrivals in the shorter of two forms: absolute, or relative to the event
// times. Absolute arrivals are usually shorter for uploads, and relative ones for live devices.
func (b *Builder) appendArrivals(dst []byte) []byte {
	at := len(dst)
	dst = appendInts(append(dst, 0), b.arrived)
	b.scratch = b.scratch[:0]
	for i, a := range b.arrived {
		b.scratch = append(b.scratch, a-floorMilli(b.times[i]))
	}
	plain := len(dst)
	dst = appendInts(append(dst, 1), b.scratch)
	if len(dst)-plain < plain-at {
		return append(dst[:at], dst[plain:]...)
	}
	return dst[:plain]
}

func floorMilli(ns int64) int64 {
	ms := ns / 1e6
	if ns%1e6 < 0 {
		ms--
	}
	return ms
}

// Kinds of a reading's id.
const (
	idDerived = iota
	idHash
	idText
	idKey // an id with a version
)

func (b *Builder) appendIDs(dst []byte) []byte {
	if !b.custom {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	for i, id := range b.ids {
		hash, isHash := id.Hash()
		switch {
		case b.derived[i]:
			dst = append(dst, idDerived)
		case id.Version() > 0:
			key := id.Key()
			dst = binary.AppendUvarint(append(dst, idKey), uint64(len(key)))
			dst = append(dst, key...)
		case isHash:
			dst = binary.LittleEndian.AppendUint64(append(dst, idHash), hash)
		default:
			text := id.String()
			dst = binary.AppendUvarint(append(dst, idText), uint64(len(text)))
			dst = append(dst, text...)
		}
	}
	return dst
}
