package chunk

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
)

type decoder struct {
	*block.Column
	chunk *Chunk
}

func bit(bitmap []byte, i int) bool { return bitmap[i/8]>>(i%8)&1 == 1 }

func (f decoder) decode(s *source) {
	n := f.chunk.Count
	if name := s.bytes(s.uvarint()); string(name) != f.Name {
		f.Name = string(name)
	}
	var present []byte
	values := n
	if s.byte() == 0 {
		present = s.bytes(uint64(n+7) / 8)
		values = countBits(present)
	}
	kind := s.byte()
	f.Kind = varve.Kind(kind)
	var kinds []byte
	if kind == kindMixed {
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
	f.Plain = numbers == n && f.Kind == varve.KindNumber && len(f.Wide) == 0 && f.Most == f.Least
	f.Bools = append(f.Bools[:0], s.bytes(uint64(bools+7)/8)...)
	f.decodeTexts(s, texts)
}

func countBits(bitmap []byte) int {
	n := 0
	for _, b := range bitmap {
		n += bits.OnesCount8(b)
	}
	return n
}

// place sets Slots and Kinds, which have the index and the kind of each reading's value. Slots stays empty
// if all readings have values of one kind, and Kinds stays empty unless the kinds are mixed. place returns
// the counts of the numbers, booleans and texts.
func (f decoder) place(n, values int, present, kinds []byte) (numbers, bools, texts int) {
	f.Slots, f.Kinds = f.Slots[:0], f.Kinds[:0]
	if present == nil && kinds == nil {
		count := [3]int{}
		if class := classOf(byte(f.Kind)); class >= 0 {
			count[class] = values
		}
		return count[0], count[1], count[2]
	}
	count, value := [3]int{}, 0
	for i := range n {
		kind, slot := byte(f.Kind), int32(-1)
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
		f.Slots = append(f.Slots, slot)
		if kinds != nil {
			f.Kinds = append(f.Kinds, kind)
		}
	}
	return count[0], count[1], count[2]
}

// classOf returns 0 for numbers, 1 for booleans and 2 for texts, or -1 if the kind is unknown.
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

func (f decoder) decodeNumbers(s *source, n int) {
	f.Wide, f.Exps, f.Coefs, f.Encoded = f.Wide[:0], f.Exps[:0], f.Coefs[:0], nil
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
			f.Wide = append(f.Wide, num)
		}
	case numbersScaled:
		f.decodeExponents(s, n)
		from := s.data
		s.skipInts(n)
		f.Encoded, f.At = f.chunk, len(f.chunk.encoded)
		f.chunk.encoded = binary.AppendUvarint(f.chunk.encoded, uint64(n))
		f.chunk.encoded = append(f.chunk.encoded, from[:len(from)-len(s.data)]...)
	default:
		s.fail()
	}
}

// decodeExponents sets Least and Most, and Exps unless all exponents are equal. It checks the exponents,
// so that Column.Value cannot fail.
func (f decoder) decodeExponents(s *source, n int) {
	if len(s.data) > 0 && s.data[0] == packSame {
		s.byte()
		f.Least = s.varint()
		f.Most = f.Least
	} else {
		f.Exps = slices.Grow(f.Exps, n)[:n]
		s.ints(f.Exps)
		f.Least, f.Most = slices.Min(f.Exps), slices.Max(f.Exps)
	}
	if _, ok := decimal.PowerOf10(f.Most - f.Least); !ok || f.Least < -decimal.MaxScale || f.Most > decimal.MaxScale {
		s.fail()
	}
}

// DecodeNumbers implements block.Decoder.
func (c *Chunk) DecodeNumbers(column *block.Column) {
	s := source{data: c.encoded[column.At:]}
	n := int(s.uvarint())
	if len(column.Exps) == 0 {
		column.Exps = slices.Grow(column.Exps, n)[:n]
		for i := range column.Exps {
			column.Exps[i] = column.Least
		}
	}
	column.Coefs = slices.Grow(column.Coefs[:0], n)[:n]
	s.ints(column.Coefs)
}

func (f decoder) decodeTexts(s *source, n int) {
	f.Texts = f.Texts[:0]
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
		f.Texts = append(f.Texts, dict[at])
	}
}
