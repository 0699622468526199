package decimal

import (
	"encoding/binary"
)

// AppendCanonical appends the canonical binary form of n. Equal numbers have equal forms.
//
// The form begins with the zigzag varint of twice the exponent, plus 1 if n is negative. The
// coefficient without trailing zeros follows, as the varints of its low 64 bits and its high 64
// bits.
func (n Number) AppendCanonical(dst []byte) []byte {
	if n.hi != 0 || n.lo%10 == 0 {
		n = n.Canonical()
	}
	signed := int64(n.exp) * 2
	if n.neg {
		signed++
	}
	if zigzag := uint64(signed<<1) ^ uint64(signed>>63); zigzag < 0x80 {
		dst = append(dst, byte(zigzag))
	} else {
		dst = binary.AppendUvarint(dst, zigzag)
	}
	if n.hi == 0 && n.lo < 1<<14 { // fast path for most numbers
		if n.lo < 0x80 {
			return append(dst, byte(n.lo), 0)
		}
		return append(dst, byte(n.lo)|0x80, byte(n.lo>>7), 0)
	}
	dst = binary.AppendUvarint(dst, n.lo)
	return binary.AppendUvarint(dst, n.hi)
}

// AppendCanonicalScaled appends the canonical form of FromScaled(coefficient, exp). It may overwrite bytes
// between the length and the capacity of the result.
func AppendCanonicalScaled(dst []byte, coefficient int64, exp int) []byte {
	if s := ShortCanonical(coefficient, exp); !s.IsZero() {
		return s.AppendTo(dst)
	}
	return FromScaled(coefficient, exp).AppendCanonical(dst)
}
