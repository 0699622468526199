package chunk

import (
	"encoding/binary"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// The encoding of a field:
//
//	uvarint, bytes  its name
//	byte            1 if every reading has it; otherwise 0 and a bitmap of n bits
//	byte            its kind; or kindMixed and a kind byte for each value
//	numbers         the values of kind number, if any; see appendNumbers
//	bitmap          the values of kind boolean, if any
//	texts           the values of kind string and JSON, if any; see appendTexts

// kindMixed is the kind byte of a field whose values have several kinds.
const kindMixed = 0xff

type fieldBuilder struct {
	name    string
	rows    []int32 // indexes of the readings with this field
	kinds   []byte
	numbers []varve.Number
	bools   []bool
	texts   []string
	mixed   bool
	scratch []int64
	exps    []int64
}

func (f *fieldBuilder) reset() {
	clear(f.texts)
	f.rows, f.kinds, f.numbers, f.bools, f.texts = f.rows[:0], f.kinds[:0], f.numbers[:0], f.bools[:0], f.texts[:0]
	f.mixed = false
}

func (f *fieldBuilder) add(row int, v varve.Value) {
	kind := byte(v.Kind())
	f.mixed = f.mixed || len(f.kinds) > 0 && f.kinds[0] != kind
	f.rows = append(f.rows, int32(row))
	f.kinds = append(f.kinds, kind)
	switch v.Kind() {
	case varve.KindNumber:
		f.numbers = append(f.numbers, v.Number())
	case varve.KindBool:
		f.bools = append(f.bools, v.Bool())
	default:
		f.texts = append(f.texts, v.Text())
	}
}

func (f *fieldBuilder) appendTo(dst []byte, n int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(f.name)))
	dst = append(dst, f.name...)
	if len(f.rows) == n {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
		dst = appendBitmap(dst, n, func(yield func(int)) {
			for _, row := range f.rows {
				yield(int(row))
			}
		})
	}
	if f.mixed {
		dst = append(dst, kindMixed)
		dst = append(dst, f.kinds...)
	} else {
		dst = append(dst, f.kinds[0])
	}
	dst = f.appendNumbers(dst)
	dst = appendBitmap(dst, len(f.bools), func(yield func(int)) {
		for i, b := range f.bools {
			if b {
				yield(i)
			}
		}
	})
	return f.appendTexts(dst)
}

// appendBitmap appends n bits. The function "set" yields the indexes of bits that are 1.
func appendBitmap(dst []byte, n int, set func(yield func(int))) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, (n+7)/8)...)
	set(func(i int) { dst[at+i/8] |= 1 << (i % 8) })
	return dst
}

// Packings of numbers.
const (
	numbersScaled = iota // exponents as ints, then the coefficients for the smallest exponent as ints
	numbersWide          // sign and exponent, low and high 64 bits of each number
)

// maxScaled is the maximum of a scaled coefficient, so that second differences fit into an int64.
const maxScaled = 1 << 60

func (f *fieldBuilder) appendNumbers(dst []byte) []byte {
	if len(f.numbers) == 0 {
		return dst
	}
	if !f.scale() {
		dst = append(dst, numbersWide)
		for _, n := range f.numbers {
			neg, hi, lo, exp := n.Parts()
			signed := int64(exp) * 2
			if neg {
				signed++
			}
			dst = binary.AppendVarint(dst, signed)
			dst = binary.AppendUvarint(dst, lo)
			dst = binary.AppendUvarint(dst, hi)
		}
		return dst
	}
	dst = append(dst, numbersScaled)
	dst = appendInts(dst, f.exps)
	return appendInts(dst, f.scratch)
}

// scale converts the coefficients to the smallest exponent. It returns false if a coefficient is too
// large, or becomes too large.
func (f *fieldBuilder) scale() bool {
	f.exps, f.scratch = f.exps[:0], f.scratch[:0]
	for _, n := range f.numbers {
		coef, exp, ok := n.Scaled()
		if !ok {
			return false
		}
		f.exps, f.scratch = append(f.exps, int64(exp)), append(f.scratch, coef)
	}
	least := slices.Min(f.exps)
	for i, exp := range f.exps {
		power, ok := decimal.PowerOf10(exp - least)
		if c := f.scratch[i]; !ok || c > maxScaled/power || c < -maxScaled/power {
			return false
		}
		f.scratch[i] *= power
	}
	return true
}

// appendTexts writes each distinct text once, and then, for each value, the index of its text.
func (f *fieldBuilder) appendTexts(dst []byte) []byte {
	if len(f.texts) == 0 {
		return dst
	}
	index := map[string]int{}
	var distinct []string
	f.scratch = f.scratch[:0]
	for _, t := range f.texts {
		at, ok := index[t]
		if !ok {
			at = len(distinct)
			index[t] = at
			distinct = append(distinct, t)
		}
		f.scratch = append(f.scratch, int64(at))
	}
	dst = binary.AppendUvarint(dst, uint64(len(distinct)))
	for _, t := range distinct {
		dst = binary.AppendUvarint(dst, uint64(len(t)))
		dst = append(dst, t...)
	}
	return appendInts(dst, f.scratch)
}
