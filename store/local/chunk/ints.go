package chunk

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Packings of a column of integers. Values and differences are zigzag varints, and lengths of runs
// are uvarints.
const (
	packSame   = iota // the value that all integers have
	packPlain         // each integer
	packDelta         // the first value, then differences
	packDouble        // the first value and difference, then differences of differences
	packRuns          // for each run: difference from the value of the previous run, length - 1
	packings
)

// ErrDamaged means that a chunk cannot be decoded.
var ErrDamaged = errors.New("chunk is damaged")

// appendInts appends vals in the shortest packing, if each length of a run counts as one byte. It does not
// write the number of values, because the reader knows it.
func appendInts(dst []byte, vals []int64) []byte {
	if len(vals) == 0 {
		return dst
	}
	switch pack := bestPacking(vals); pack {
	case packSame:
		return binary.AppendVarint(append(dst, packSame), vals[0])
	case packRuns:
		return appendRuns(append(dst, packRuns), vals)
	default:
		return appendDiffs(append(dst, byte(pack)), vals, pack)
	}
}

func bestPacking(vals []int64) int {
	var size [packings]int
	var last, lastDiff int64
	runs := 0
	for i, v := range vals {
		diff := v - last
		size[packPlain] += varintLen(v)
		size[packDelta] += varintLen(diff)
		if i < 2 {
			size[packDouble] += varintLen(diff)
		} else {
			size[packDouble] += varintLen(diff - lastDiff)
		}
		if diff != 0 || i == 0 {
			runs++
			size[packRuns] += varintLen(diff) + 1
		}
		last, lastDiff = v, diff
	}
	if runs == 1 {
		return packSame
	}
	best := packPlain
	for pack := packPlain; pack < packings; pack++ {
		if size[pack] < size[best] {
			best = pack
		}
	}
	return best
}

func varintLen(v int64) int {
	return (bits.Len64(uint64(v<<1)^uint64(v>>63)|1) + 6) / 7
}

func appendDiffs(dst []byte, vals []int64, pack int) []byte {
	var last, lastDiff int64
	for i, v := range vals {
		switch diff := v - last; {
		case pack == packPlain:
			dst = binary.AppendVarint(dst, v)
		case pack == packDelta || i < 2:
			dst = binary.AppendVarint(dst, diff)
			lastDiff = diff
		default:
			dst = binary.AppendVarint(dst, diff-lastDiff)
			lastDiff = diff
		}
		last = v
	}
	return dst
}

func appendRuns(dst []byte, vals []int64) []byte {
	var last int64
	for i := 0; i < len(vals); {
		from := i
		for i < len(vals) && vals[i] == vals[from] {
			i++
		}
		dst = binary.AppendVarint(dst, vals[from]-last)
		dst = binary.AppendUvarint(dst, uint64(i-from-1))
		last = vals[from]
	}
	return dst
}

// source reads the bytes of a chunk in order. After a failure, err is set and all results are
// zero.
type source struct {
	data []byte
	err  error
}

func (s *source) fail() {
	s.err = ErrDamaged
	s.data = nil
}

func (s *source) byte() byte {
	if len(s.data) == 0 {
		s.fail()
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

func (s *source) uvarint() uint64 {
	if len(s.data) > 0 && s.data[0] < 0x80 {
		v := s.data[0]
		s.data = s.data[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(s.data)
	if n <= 0 {
		s.fail()
		return 0
	}
	s.data = s.data[n:]
	return v
}

func (s *source) varint() int64 {
	u := s.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// bytes returns the next n bytes, which share the memory of the chunk.
func (s *source) bytes(n uint64) []byte {
	if n > uint64(len(s.data)) {
		s.fail()
		return nil
	}
	b := s.data[:n]
	s.data = s.data[n:]
	return b
}

// ints sets vals to the integers of a column that appendInts encoded. The length of vals is the number
// of integers.
func (s *source) ints(vals []int64) {
	if len(vals) == 0 {
		return
	}
	switch pack := s.byte(); pack {
	case packSame:
		v := s.varint()
		for i := range vals {
			vals[i] = v
		}
	case packPlain:
		s.varints(vals)
	case packDelta:
		s.varints(vals)
		var v int64
		for i, diff := range vals {
			v += diff
			vals[i] = v
		}
	case packDouble:
		s.doubles(vals)
	case packRuns:
		s.runs(vals)
	default:
		s.fail()
	}
}

// varints decodes one number for each element of vals. It is faster than varint for numbers of one
// or two bytes.
func (s *source) varints(vals []int64) {
	data := s.data
	for i := range vals {
		var u uint64
		switch {
		case len(data) > 0 && data[0] < 0x80:
			u, data = uint64(data[0]), data[1:]
		case len(data) > 1 && data[1] < 0x80:
			u, data = uint64(data[0]&0x7f)|uint64(data[1])<<7, data[2:]
		default:
			s.data = data
			u = s.uvarint()
			data = s.data
		}
		vals[i] = int64(u>>1) ^ -int64(u&1)
	}
	s.data = data
}

func (s *source) doubles(vals []int64) {
	s.varints(vals)
	var v, diff int64
	for i, d := range vals {
		if i < 2 {
			diff = d
		} else {
			diff += d
		}
		v += diff
		vals[i] = v
	}
}

func (s *source) runs(vals []int64) {
	var v int64
	for i := 0; i < len(vals); {
		v += s.varint()
		n := s.uvarint()
		if s.err != nil || n >= uint64(len(vals)-i) {
			s.fail()
			return
		}
		for end := i + int(n) + 1; i < end; i++ {
			vals[i] = v
		}
	}
}
