package journal

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/varvedb/varve/store/local/meta"
)

// MaxPayload is the maximum size of the payload of a frame, in bytes.
const MaxPayload = 1 << 30

// Kind is the type of a frame's payload.
type Kind byte

const (
	// Readings marks a journal record: the new readings of one write.
	Readings Kind = 1
	// Batch marks a batch of changes to items or tables.
	Batch Kind = 2
	// end marks the last frame of a segment after which another segment was begun.
	end Kind = 3
)

const (
	magic       = "varve-j2"
	headerBytes = 8 + 8 + 16 + 8 + 4
	frameBytes  = 4 + 4 + 8 + 8 + 1 // size of a frame without its payload

	// Format 1.
	magic1       = "varve-j1"
	headerBytes1 = 8 + 8
	frameBytes1  = 4 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encoding defines the bytes of the frames in one segment.
type encoding struct {
	first int    // offset of the first frame
	frame int    // number of bytes of a frame before its payload
	seed  uint32 // checksum of the store id and the segment number, which all frames include in their checksums
}

// encodingOf returns the encoding of a segment. The checksums cover the store id and the segment
// number, so that a frame of another store or segment fails its checksum.
func encodingOf(id meta.ID, number uint64) encoding {
	seed := crc32.Checksum(binary.LittleEndian.AppendUint64(id[:], number), castagnoli)
	return encoding{first: headerBytes, frame: frameBytes, seed: seed}
}

// encodingOf1 returns the encoding of a segment of format 1.
func encodingOf1(number uint64) encoding {
	seed := crc32.Checksum(binary.LittleEndian.AppendUint64(nil, number), castagnoli)
	return encoding{first: headerBytes1, frame: frameBytes1, seed: seed}
}

// header is the beginning of a segment.
type header struct {
	number uint64
	id     meta.ID
	length int64 // length that the file had before its first frame
}

func (h header) bytes() []byte {
	dst := append(make([]byte, 0, headerBytes), magic...)
	dst = binary.LittleEndian.AppendUint64(dst, h.number)
	dst = append(dst, h.id[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.length))
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

// parseHeader parses the beginning of a segment. It returns false if the header is incomplete or
// damaged. Values that format 1 does not have are zero.
func parseHeader(data []byte) (h header, l encoding, ok bool) {
	if len(data) >= headerBytes1 && string(data[:8]) == magic1 {
		h.number = binary.LittleEndian.Uint64(data[8:])
		return h, encodingOf1(h.number), true
	}
	if len(data) < headerBytes {
		return h, l, false
	}
	h.number = binary.LittleEndian.Uint64(data[8:])
	h.id = meta.ID(data[16:32])
	h.length = int64(binary.LittleEndian.Uint64(data[32:]))
	return h, encodingOf(h.id, h.number), string(h.bytes()) == string(data[:headerBytes])
}

// Frame is one entry of the journal.
type Frame struct {
	Kind    Kind
	Payload []byte

	synced int64 // durable bytes of the segment when the frame was appended
	length int64 // durable length of the file at that time; 0 if not recorded
	size   int   // size of the frame in bytes
}

func (f *Frame) appendTo(dst []byte, l encoding) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.Payload)))
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(f.synced))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(f.length))
	dst = append(dst, byte(f.Kind))
	dst = append(dst, f.Payload...)
	binary.LittleEndian.PutUint32(dst[at+4:], crc32.Update(l.seed, castagnoli, dst[at+8:]))
	return dst
}

// claimed returns the size of the frame at the beginning of data, as its header states it. It
// verifies no checksum. It returns 0 if data is shorter than that size, or if the payload is larger
// than MaxPayload.
func (l encoding) claimed(data []byte) int {
	if len(data) < l.frame {
		return 0
	}
	n := binary.LittleEndian.Uint32(data)
	if n > MaxPayload || int(n) > len(data)-l.frame {
		return 0
	}
	return l.frame + int(n)
}

// parse parses the frame at the beginning of data. It returns false if the frame is incomplete or its
// checksum fails.
func (l encoding) parse(data []byte) (f Frame, ok bool) {
	f.size = l.claimed(data)
	if f.size == 0 || crc32.Update(l.seed, castagnoli, data[8:f.size]) != binary.LittleEndian.Uint32(data[4:]) {
		return f, false
	}
	f.Kind, f.Payload = Readings, data[l.frame:f.size]
	f.synced = int64(binary.LittleEndian.Uint64(data[8:]))
	if l.frame == frameBytes {
		f.length = int64(binary.LittleEndian.Uint64(data[16:]))
		f.Kind = Kind(data[24])
	}
	return f, true
}
