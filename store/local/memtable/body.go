package memtable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store/local/chunk"
)

// The body of a row is the form of a reading in memory and in the journal, without its series,
// time and field names:
//
//	byte     kind of its id; then 8 bytes of hash, a length and text, or a length and key
//	varint   arrival, relative to the start of the table's arrival month, in ms
//	values   for each value, a tag byte and its data
//
// The low three bits of a tag are the kind of value. For numbers with a coefficient of 64 bits, the
// high five bits are the number of decimals, or 31 if an exponent follows.

// Kinds of id.
const (
	idDerived = iota // the content id, which is not stored
	idHash
	idText
	idKey // an id with a version
)

// Tags of values.
const (
	tagPositive = iota // a number that is not negative, with a coefficient of 64 bits
	tagNegative
	tagWide // a number as its sign and exponent, and the low and high 64 bits of its coefficient
	tagFalse
	tagTrue
	tagString
	tagJSON

	tagBits     = 3
	expFollows  = 31
	maxDecimals = expFollows - 1
)

// ErrBody means that a body or a journal record cannot be decoded.
var ErrBody = errors.New("a row is damaged")

// appendBody appends the body of a reading to dst. The zero id means the content id, which is
// not computed. The base is the start of the table's arrival month in ms.
func appendBody(dst []byte, r *varve.Reading, base int64) []byte {
	switch hash, isHash := r.ID.Hash(); {
	case r.ID.IsZero() || r.ID == r.ContentID():
		dst = append(dst, idDerived)
	case r.ID.Version() > 0:
		dst = appendText(append(dst, idKey), r.ID.Key())
	case isHash:
		dst = binary.LittleEndian.AppendUint64(append(dst, idHash), hash)
	default:
		dst = appendText(append(dst, idText), r.ID.String())
	}
	dst = binary.AppendVarint(dst, r.Arrived.UnixMilli()-base)
	for i := range r.Fields {
		dst = appendValue(dst, r.Fields[i].Value)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendValue(dst []byte, v varve.Value) []byte {
	switch v.Kind() {
	case varve.KindNumber:
		return appendNumber(dst, v.Number())
	case varve.KindBool:
		if v.Bool() {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case varve.KindString:
		return appendText(append(dst, tagString), v.Text())
	default:
		return appendText(append(dst, tagJSON), v.Text())
	}
}

func appendNumber(dst []byte, n varve.Number) []byte {
	neg, hi, lo, exp := n.Parts()
	if hi != 0 {
		signed := int64(exp) * 2
		if neg {
			signed++
		}
		dst = binary.AppendVarint(append(dst, tagWide), signed)
		dst = binary.AppendUvarint(dst, lo)
		return binary.AppendUvarint(dst, hi)
	}
	tag := byte(tagPositive)
	if neg {
		tag = tagNegative
	}
	if -exp >= 0 && -exp <= maxDecimals {
		dst = append(dst, tag|byte(-exp)<<tagBits)
	} else {
		dst = binary.AppendVarint(append(dst, tag|expFollows<<tagBits), int64(exp))
	}
	return binary.AppendUvarint(dst, lo)
}

// bodyReader decodes a body. Bodies come from memory or from a verified frame. So an invalid body
// is a fault of this program. The reader reports it as an error, without a panic.
//
// The reader holds a position instead of a slice of the remaining data, because storing a pointer
// costs more during a garbage collection.
type bodyReader struct {
	data []byte
	at   int
	err  error
}

func (b *bodyReader) fail() {
	b.at, b.err = len(b.data), ErrBody
}

func (b *bodyReader) byte() byte {
	if b.at >= len(b.data) {
		b.fail()
		return 0
	}
	b.at++
	return b.data[b.at-1]
}

func (b *bodyReader) uvarint() uint64 {
	if b.at < len(b.data) && b.data[b.at] < 0x80 {
		b.at++
		return uint64(b.data[b.at-1])
	}
	return b.longUvarint()
}

func (b *bodyReader) longUvarint() uint64 {
	if d := b.data[b.at:]; len(d) > 1 && d[1] < 0x80 {
		b.at += 2
		return uint64(d[0]&0x7f) | uint64(d[1])<<7
	}
	v, n := binary.Uvarint(b.data[b.at:])
	if n <= 0 {
		b.fail()
		return 0
	}
	b.at += n
	return v
}

func (b *bodyReader) varint() int64 {
	u := b.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (b *bodyReader) bytes(n uint64) []byte {
	if n > uint64(len(b.data)-b.at) {
		b.fail()
		return nil
	}
	p := b.data[b.at : b.at+int(n)]
	b.at += int(n)
	return p
}

func (b *bodyReader) text() string { return string(b.bytes(b.uvarint())) }

// id decodes the id. The zero ID means the content id.
func (b *bodyReader) id() varve.ID {
	switch b.byte() {
	case idDerived:
		return varve.ID{}
	case idHash:
		if p := b.bytes(8); p != nil {
			return varve.HashID(binary.LittleEndian.Uint64(p))
		}
	case idText:
		if id, err := varve.ParseID(b.text()); err == nil {
			return id
		}
	case idKey:
		if id, err := varve.ParseKey(b.text()); err == nil {
			return id
		}
	}
	b.fail()
	return varve.ID{}
}

func (b *bodyReader) value() varve.Value {
	tag := b.byte()
	switch kind := tag & (1<<tagBits - 1); kind {
	case tagPositive, tagNegative:
		exp := -int64(tag >> tagBits)
		if exp == -expFollows {
			exp = b.varint()
		}
		return b.number(kind == tagNegative, 0, b.uvarint(), exp)
	case tagWide:
		signed, lo := b.varint(), b.uvarint()
		return b.number(signed&1 == 1, b.uvarint(), lo, signed>>1)
	case tagFalse, tagTrue:
		return varve.BoolValue(kind == tagTrue)
	case tagString:
		return varve.StringValue(b.text())
	case tagJSON:
		return varve.CanonicalJSON(b.text())
	}
	b.fail()
	return varve.Value{}
}

func (b *bodyReader) number(neg bool, hi, lo uint64, exp int64) varve.Value {
	if hi == 0 && lo <= 1<<62 && exp >= -decimal.MaxScale && exp <= decimal.MaxScale {
		coefficient := int64(lo)
		if neg {
			coefficient = -coefficient
		}
		return varve.NumberValue(decimal.FromScaled(coefficient, int(exp)))
	}
	n, err := decimal.New(neg, hi, lo, int(exp))
	if err != nil {
		b.fail()
	}
	return varve.NumberValue(n)
}

// ReadBody fills r from a body. The series and time of r must be set. If the id is the content id,
// r gets the zero id.
func ReadBody(body []byte, base int64, shape []string, r *varve.Reading, arena *chunk.Arena) error {
	b := bodyReader{data: body}
	r.ID = b.id()
	r.Arrived = time.UnixMilli(base + b.varint()).UTC()
	r.Fields = arena.Fields(r.Fields, len(shape))
	for _, name := range shape {
		r.Fields = append(r.Fields, varve.Field{Name: name, Value: b.value()})
	}
	if b.err != nil {
		return fmt.Errorf("%s: %w", r.Series, b.err)
	}
	return nil
}

// HasOwnID reports whether the id of a body differs from its content id.
func HasOwnID(body []byte) bool { return body[0] != idDerived }

// bodyArrived returns the arrival of a body in ms since 1970.
func bodyArrived(body []byte, base int64) int64 {
	b := bodyReader{data: body}
	b.id()
	return base + b.varint()
}
