package journal

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	magic       = "varve-j1"
	headerBytes = 16 // of a segment
	frameBytes  = 16 // before a frame's payload
	// MaxPayload bounds a frame.
	MaxPayload = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendHeader(dst []byte, segment uint64) []byte {
	dst = append(dst, magic...)
	return binary.LittleEndian.AppendUint64(dst, segment)
}

func appendFrame(dst []byte, segment uint64, synced int64, payload []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(synced))
	dst = append(dst, payload...)
	binary.LittleEndian.PutUint32(dst[at+4:], checksum(segment, dst[at+8:]))
	return dst
}

// checksum covers everything of a frame behind the checksum, and the segment's
// number, so that a frame of a file that was used before does not check.
func checksum(segment uint64, rest []byte) uint32 {
	var num [8]byte
	binary.LittleEndian.PutUint64(num[:], segment)
	return crc32.Update(crc32.Checksum(num[:], castagnoli), castagnoli, rest)
}

// parseFrame reads the frame at the beginning of data; false if it does not
// check.
func parseFrame(data []byte, segment uint64) (payload []byte, synced int64, ok bool) {
	if len(data) < frameBytes {
		return nil, 0, false
	}
	n := binary.LittleEndian.Uint32(data)
	if n > MaxPayload || int(n) > len(data)-frameBytes {
		return nil, 0, false
	}
	rest := data[8 : frameBytes+int(n)]
	if checksum(segment, rest) != binary.LittleEndian.Uint32(data[4:]) {
		return nil, 0, false
	}
	return rest[8:], int64(binary.LittleEndian.Uint64(rest)), true
}
