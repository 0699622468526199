package decimal

import (
	"encoding/binary"
	"math/bits"
)

// Short is a text or a canonical form of a number, of at most eight bytes. The zero Short means that the
// text or form must be computed in another way.
type Short struct {
	bytes uint64 // the first byte is the lowest one
	n     int
}

// IsZero reports whether s is the zero Short.
func (s Short) IsZero() bool { return s.n == 0 }

// AppendTo appends the bytes to dst. It may overwrite bytes between the length and the capacity of the
// result.
func (s Short) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(dst, s.bytes)[:len(dst)+s.n]
}

// ShortText returns the text of FromScaled(coefficient, exp). The result may be zero although the text is
// short. It is not zero for numbers of up to six digits with up to five decimals.
func ShortText(coefficient int64, exp int) Short {
	u, decimals := uint64(coefficient), uint(-exp)
	if coefficient < 0 {
		u = -u
	}
	if u >= 10_000_000 || decimals > 6 {
		return Short{}
	}
	digits := fourDigits(u%10_000) << 32
	if u >= 10_000 {
		digits |= fourDigits(u / 10_000)
	}
	// Remove leading zeros, except for the digit before the point.
	zeros := bits.TrailingZeros64(digits|1<<(56-8*decimals)) &^ 7
	s := Short{(digits | 0x3030_3030_3030_3030) >> zeros, 8 - zeros/8}
	if decimals > 0 {
		point := 8 * (uint(s.n) - decimals)
		s.bytes = s.bytes&(1<<point-1) | '.'<<point | s.bytes>>point<<(point+8)
		s.n++
	}
	if coefficient < 0 {
		if s.n == 8 {
			return Short{}
		}
		s.bytes, s.n = s.bytes<<8|'-', s.n+1
	}
	return s
}

// fourDigits returns the digits of a number below 10,000. The first digit is the lowest byte.
func fourDigits(u uint64) uint64 {
	high := u * 5243 >> 19 // u/100
	pair := high | (u-high*100)<<16
	tens := pair * 103 >> 10 & 0x000f_000f // each number below 100, divided by 10
	return tens | (pair-tens*10)<<8
}

// ShortCanonical returns the canonical form of FromScaled(coefficient, exp). The result may be zero
// although the form is short. It is not zero for numbers of up to six digits with up to five decimals.
func ShortCanonical(coefficient int64, exp int) Short {
	u, signed := uint64(coefficient), 2*exp
	if coefficient < 0 {
		u, signed = -u, signed+1
	}
	switch {
	case u == 0:
		return Short{n: 3}
	case u >= 1<<21 || exp < -16 || exp >= 16:
		return Short{}
	}
	for u%10 == 0 {
		u, signed = u/10, signed+2
	}
	zigzag := uint64(uint8(signed<<1 ^ signed>>63))
	switch {
	case u < 1<<7:
		return Short{zigzag | u<<8, 3}
	case u < 1<<14:
		return Short{zigzag | (u&0x7f|0x80)<<8 | u>>7<<16, 4}
	default:
		return Short{zigzag | (u&0x7f|0x80)<<8 | (u>>7&0x7f|0x80)<<16 | u>>14<<24, 5}
	}
}
