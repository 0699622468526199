package parquetfile

import (
	"math"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// field collects the values of one field in a row group.
type field struct {
	name string
	kind varve.Kind // kind of the first value; values of other kinds go to the column "others"
	rows []int32    // row of each value

	coefs []int64        // coefficients of numbers, if wide is empty
	exps  []int8         // exponents of numbers, if wide is empty
	wide  []varve.Number // all numbers, if one does not fit into coefs and exps; otherwise empty
	texts []string
	bools []bool

	largest [2*decimal.MaxScale + 1]int64 // largest absolute coefficient that addScaled got, by exponent + decimal.MaxScale
	low     int                           // smallest exponent that addScaled got
	high    int                           // largest exponent that addScaled got
}

func (f *field) reset(kind varve.Kind) {
	f.kind, f.rows, f.coefs, f.exps, f.wide, f.texts, f.bools = kind, f.rows[:0], f.coefs[:0], f.exps[:0], f.wide[:0], f.texts[:0], f.bools[:0]
	if f.high >= f.low {
		clear(f.largest[f.low+decimal.MaxScale : f.high+decimal.MaxScale+1])
	}
	f.low, f.high = math.MaxInt, math.MinInt
}

// addScaled adds the number coef × 10^exp.
func (f *field) addScaled(row int32, coef int64, exp int) {
	if len(f.wide) > 0 {
		f.addWide(row, decimal.FromScaled(coef, exp))
		return
	}
	f.rows = append(f.rows, row)
	f.coefs = append(f.coefs, coef)
	f.exps = append(f.exps, int8(exp))
	f.low, f.high = min(f.low, exp), max(f.high, exp)
	if coef < 0 {
		coef = -coef
	}
	if at := exp + decimal.MaxScale; coef > f.largest[at] {
		f.largest[at] = coef
	}
}

func (f *field) addWide(row int32, n varve.Number) {
	if len(f.wide) == 0 {
		for i, coef := range f.coefs {
			f.wide = append(f.wide, decimal.FromScaled(coef, int(f.exps[i])))
		}
		f.coefs, f.exps = f.coefs[:0], f.exps[:0]
	}
	f.rows = append(f.rows, row)
	f.wide = append(f.wide, n)
}

// add adds a value. It returns false if the value has another kind than the first one.
func (f *field) add(row int32, v varve.Value) bool {
	if v.Kind() != f.kind {
		return false
	}
	switch f.kind {
	case varve.KindNumber:
		if coef, exp, ok := v.Number().Scaled(); ok {
			f.addScaled(row, coef, exp)
		} else {
			f.addWide(row, v.Number())
		}
	case varve.KindBool:
		f.rows, f.bools = append(f.rows, row), append(f.bools, v.Bool())
	default:
		f.rows, f.texts = append(f.rows, row), append(f.texts, v.Text())
	}
	return true
}

// number returns value i, which is a number and belongs to the row f.rows[i].
func (f *field) number(i int) varve.Number {
	if len(f.wide) > 0 {
		return f.wide[i]
	}
	return decimal.FromScaled(f.coefs[i], int(f.exps[i]))
}

// value returns value i, which belongs to the row f.rows[i].
func (f *field) value(i int) varve.Value {
	switch f.kind {
	case varve.KindNumber:
		return varve.NumberValue(f.number(i))
	case varve.KindBool:
		return varve.BoolValue(f.bools[i])
	case varve.KindString:
		return varve.StringValue(f.texts[i])
	default:
		return varve.CanonicalJSON(f.texts[i])
	}
}

// Digits after and before the point of a column whose numbers do not all fit one DECIMAL(38).
const (
	usualScale = 18
	usualWhole = wideDigits - usualScale
)

// neededType returns the type of the column that holds the values. Numbers that exceed the type are
// stored in the column "others".
func (f *field) neededType() fieldType {
	t := fieldType{kind: f.kind}
	if f.kind != varve.KindNumber {
		return t
	}
	for exp := f.low; exp <= f.high; exp++ {
		if most := f.largest[exp+decimal.MaxScale]; most > 0 {
			t.scale, t.whole = max(t.scale, -exp), max(t.whole, decimal.FromInt(most).Digits()+exp)
		} else if len(f.wide) == 0 && exp < 0 && exp >= -usualScale {
			t.scale = max(t.scale, -exp) // all numbers with this exponent are zeros, such as 0.00
		}
	}
	for _, n := range f.wide {
		_, _, _, exp := n.Canonical().Parts()
		t.scale, t.whole = max(t.scale, -exp), max(t.whole, n.Canonical().Digits()+exp)
	}
	if t.scale+t.whole > wideDigits {
		t.scale, t.whole = usualScale, usualWhole
	}
	return t
}

// isShort reports whether number i has no superfluous decimal, such as the 0 of 1.50.
func (f *field) isShort(i int) bool {
	if len(f.wide) > 0 {
		return f.decimals(i) == -shortestExponent(f.wide[i])
	}
	return f.exps[i] >= 0 || f.coefs[i]%10 != 0
}

// decimals returns how many digits number i has after the point.
func (f *field) decimals(i int) int {
	if len(f.wide) > 0 {
		_, _, _, exp := f.wide[i].Parts()
		return max(-exp, 0)
	}
	return max(-int(f.exps[i]), 0)
}
