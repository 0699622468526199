package chunk

import (
	"math/bits"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// field is a decoded column. Its values are grouped by kind.
type field struct { // kind of all values, or kindMixed
	name  string
	kind  byte    // kind of each reading's value, if kind is kindMixed
	kinds []byte  // of each reading's value, if kind is kindMixed
	slots []int32 // index of each reading's value among its kind, or -1; if empty, the index of the reading

	plain bool    // every reading has a number, all with one exponent
	exps  []int64 // of scaled numbers
	coefs []int64 // coefficients of scaled numbers for the least exponent
	least int64
	wide  []varve.Number
	bools []byte // bitmap
	texts []string
}

// value returns the value of the field in reading i, or the zero Value.
func (f *field) value(i int) varve.Value {
	if f.plain {
		return varve.NumberValue(decimal.FromScaled(f.coefs[i], int(f.least)))
	}
	kind := f.kind
	if len(f.kinds) > 0 {
		kind = f.kinds[i]
	}
	if len(f.slots) > 0 {
		if f.slots[i] < 0 {
			return varve.Value{}
		}
		i = int(f.slots[i])
	}
	switch varve.Kind(kind) {
	case varve.KindNumber:
		return varve.NumberValue(f.number(i))
	case varve.KindBool:
		return varve.BoolValue(bit(f.bools, i))
	case varve.KindString:
		return varve.StringValue(f.texts[i])
	default:
		return varve.CanonicalJSON(f.texts[i])
	}
}

func (f *field) number(i int) varve.Number {
	if len(f.wide) > 0 {
		return f.wide[i]
	}
	exp := f.exps[i]
	coef := f.coefs[i]
	if exp != f.least {
		power, _ := decimal.PowerOf10(exp - f.least) // verified by decode
		coef /= power
	}
	return decimal.FromScaled(coef, int(exp))
}

func bit(bitmap []byte, i int) bool { return bitmap[i/8]>>(i%8)&1 == 1 }

func (f *field) decode(s *source, n int) {
	if name := s.bytes(s.uvarint()); string(name) != f.name {
		f.name = string(name)
	}
	var present []byte
	values := n
	if s.byte() == 0 {
		present = s.bytes(uint64(n+7) / 8)
		values = countBits(present)
	}
	f.kind = s.byte()
	var kinds []byte
	if f.kind == kindMixed {
		kinds = s.bytes(uint64(values))
	}
	if s.err != nil || values > n {
		s.fail()
		return
	}
	numbers, bools, texts := f.place(n, values, present, kinds)
	if numbers+bools+texts != values {
		s.fail()
		return
	}
	f.decodeNumbers(s, numbers)
	f.plain = numbers == n && f.kind == byte(varve.KindNumber) && len(f.coefs) == n && slices.Max(f.exps) == f.least
	f.bools = append(f.bools[:0], s.bytes(uint64(bools+7)/8)...)
	f.decodeTexts(s, texts)
}

func countBits(bitmap []byte) int {
	n := 0
	for _, b := range bitmap {
		n += bits.OnesCount8(b)
	}
	return n
}

// place assigns the kind and the index of the value to each reading. It counts the values by
// encoding.
func (f *field) place(n, values int, present, kinds []byte) (numbers, bools, texts int) {
	f.slots, f.kinds = f.slots[:0], f.kinds[:0]
	if present == nil && kinds == nil {
		count := [3]int{}
		if class := classOf(f.kind); class >= 0 {
			count[class] = values
		}
		return count[0], count[1], count[2]
	}
	count, value := [3]int{}, 0
	for i := range n {
		kind, slot := f.kind, int32(-1)
		if present == nil || bit(present, i) {
			if kinds != nil {
				kind = kinds[value]
			}
			if class := classOf(kind); class >= 0 {
				slot = int32(count[class])
				count[class]++
			}
			value++
		}
		f.slots = append(f.slots, slot)
		if kinds != nil {
			f.kinds = append(f.kinds, kind)
		}
	}
	return count[0], count[1], count[2]
}

// classOf returns the group of a kind: numbers, booleans or texts.
func classOf(kind byte) int {
	switch varve.Kind(kind) {
	case varve.KindNumber:
		return 0
	case varve.KindBool:
		return 1
	case varve.KindString, varve.KindJSON:
		return 2
	default:
		return -1
	}
}

func (f *field) decodeNumbers(s *source, n int) {
	f.wide, f.exps, f.coefs = f.wide[:0], f.exps[:0], f.coefs[:0]
	if n == 0 {
		return
	}
	switch s.byte() {
	case numbersWide:
		for range n {
			signed, lo, hi := s.varint(), s.uvarint(), s.uvarint()
			num, err := decimal.New(signed&1 == 1, hi, lo, int(signed>>1))
			if err != nil {
				s.fail()
			}
			if s.err != nil {
				return
			}
			f.wide = append(f.wide, num)
		}
	case numbersScaled:
		f.exps = slices.Grow(f.exps, n)[:n]
		f.coefs = slices.Grow(f.coefs, n)[:n]
		s.ints(f.exps)
		s.ints(f.coefs)
		f.checkScale(s)
	default:
		s.fail()
	}
}

// checkScale ensures that number cannot fail.
func (f *field) checkScale(s *source) {
	if s.err != nil {
		return
	}
	f.least = slices.Min(f.exps)
	most := slices.Max(f.exps)
	if _, ok := decimal.PowerOf10(most - f.least); !ok || f.least < -decimal.MaxScale || most > decimal.MaxScale {
		s.fail()
	}
}

func (f *field) decodeTexts(s *source, n int) {
	f.texts = f.texts[:0]
	if n == 0 || s.err != nil {
		return
	}
	distinct := s.uvarint()
	if distinct > uint64(n) {
		s.fail()
		return
	}
	dict := make([]string, distinct)
	for i := range dict {
		dict[i] = string(s.bytes(s.uvarint()))
	}
	index := make([]int64, n)
	s.ints(index)
	if s.err != nil {
		return
	}
	for _, at := range index {
		if at < 0 || at >= int64(len(dict)) {
			s.fail()
			return
		}
		f.texts = append(f.texts, dict[at])
	}
}
