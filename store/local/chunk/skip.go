package chunk

import (
	"encoding/binary"
	"math/bits"
)

// skipInts skips a column of n integers that appendInts encoded. It finds the same damage as ints.
func (s *source) skipInts(n int) {
	if n == 0 {
		return
	}
	switch pack := s.byte(); pack {
	case packSame:
		s.varint()
	case packPlain, packDelta, packDouble:
		s.skipVarints(n)
	case packRuns:
		s.skipRuns(n)
	default:
		s.fail()
	}
}

// continued is the mask of the highest bit of each byte. This bit is 1 if the number continues in the
// next byte.
const continued = 0x8080808080808080

// skipVarints skips n numbers. It skips the numbers that end in the next eight bytes in one step.
func (s *source) skipVarints(n int) {
	for n > 0 && s.err == nil {
		if len(s.data) >= 8 {
			ends := ^binary.LittleEndian.Uint64(s.data) & continued
			if count := bits.OnesCount64(ends); count > 0 && count <= n {
				s.data, n = s.data[8-bits.LeadingZeros64(ends)/8:], n-count
				continue
			}
		}
		s.uvarint()
		n--
	}
}

func (s *source) skipRuns(n int) {
	for n > 0 {
		s.varint()
		more := s.uvarint()
		if s.err != nil || more >= uint64(n) {
			s.fail()
			return
		}
		n -= int(more) + 1
	}
}
