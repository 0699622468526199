package arrowstream

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// column builds the values of a field. Of its builders decimals, floats, bools and texts, only the one for the
// column's type is set, and it is the same object as builder.
type column struct {
	name     string
	builder  array.Builder
	decimals *array.Decimal128Builder
	scale    int // number of digits after the decimal point in the column's type
	floats   *array.Float64Builder
	bools    *array.BooleanBuilder
	texts    *array.StringBuilder
	kind     varve.Kind // for texts, the kind of all values; 0 means several kinds, written as JSON
	width    int        // approximate bytes of a value, excluding texts
}

func newColumn(f *fieldType, t arrow.DataType, b array.Builder) column {
	c := column{name: f.name, builder: b}
	switch b := b.(type) {
	case *array.Decimal128Builder:
		c.decimals, c.width = b, arrow.Decimal128SizeBytes
		if t, ok := t.(*arrow.Decimal128Type); ok {
			c.scale = int(t.Scale)
		}
	case *array.Float64Builder:
		c.floats, c.width = b, arrow.Float64SizeBytes
	case *array.BooleanBuilder:
		c.bools, c.width = b, 1
	case *array.StringBuilder:
		c.texts, c.width = b, arrow.Int32SizeBytes
		c.kind, _ = f.kind()
	}
	return c
}

// pad appends nulls up to a number of rows.
func (c *column) pad(rows int) {
	if n := rows - c.builder.Len(); n > 0 {
		c.builder.AppendNulls(n)
	}
}

// add appends a value. It returns the buffer for texts, which may have grown, and the size of the value's
// text in bytes. It fails with ErrChanged if the value does not fit the type of the column.
func (c *column) add(buffer []byte, v varve.Value) ([]byte, int, error) {
	kind := v.Kind()
	switch {
	case c.texts != nil:
		return c.addText(buffer, v)
	case c.decimals != nil && kind == varve.KindNumber:
		if c.addNumber(v.Number().Parts()) {
			return buffer, 0, nil
		}
	case c.floats != nil && kind == varve.KindNumber:
		c.floats.Append(v.Number().Float64())
		return buffer, 0, nil
	case c.bools != nil && kind == varve.KindBool:
		c.bools.Append(v.Bool())
		return buffer, 0, nil
	}
	return buffer, 0, changed(c.name)
}

func (c *column) addText(buffer []byte, v varve.Value) ([]byte, int, error) {
	switch c.kind {
	case 0:
		buffer = wire.AppendValue(buffer[:0], v)
	case v.Kind():
		if c.kind != varve.KindNumber {
			c.texts.Append(v.Text())
			return buffer, len(v.Text()), nil
		}
		buffer = v.Number().Append(buffer[:0])
	default:
		return buffer, 0, changed(c.name)
	}
	c.texts.BinaryBuilder.Append(buffer)
	return buffer, len(buffer), nil
}

// addScaled appends coefficient × 10^exp. It reports whether the number fits.
func (c *column) addScaled(coefficient int64, exp int) bool {
	if coefficient < 0 {
		return c.addNumber(true, 0, uint64(-(coefficient+1))+1, exp)
	}
	return c.addNumber(false, 0, uint64(coefficient), exp)
}

// addNumber appends the number with a sign, a 128-bit coefficient and an exponent. It reports
// whether the number fits.
func (c *column) addNumber(neg bool, hi, lo uint64, exp int) bool {
	if hi == 0 && lo == 0 {
		exp = -c.scale // the number 0 fits each scale
	}
	for ; exp > -c.scale; exp-- {
		if hi > maxHi || hi == maxHi && lo > maxLo {
			return false // a coefficient ten times as large has more than 38 digits
		}
		h, l := bits.Mul64(lo, 10)
		hi, lo = hi*10+h, l
	}
	for ; exp < -c.scale; exp++ {
		q := hi / 10
		l, rest := bits.Div64(hi%10, lo, 10)
		if rest != 0 {
			return false
		}
		hi, lo = q, l
	}
	n := decimal128.New(int64(hi), lo)
	if neg {
		n = n.Negate()
	}
	c.decimals.Append(n)
	return true
}

// maxHi and maxLo are the high and the low half of a coefficient of 37 nines. Ten times this
// coefficient still has at most 38 digits.
var maxHi, maxLo = func() (hi, lo uint64) {
	n := decimal128.GetMaxValue(37)
	return uint64(n.HighBits()), n.LowBits()
}()
