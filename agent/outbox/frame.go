package outbox

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// MaxRecord is the maximum length of Record.Lines in bytes.
const MaxRecord = 1 << 20

// Record has readings of one stream.
type Record struct {
	Stream   string
	Readings int
	// Lines has one JSON object per reading, each with a line feed.
	Lines []byte
}

// A segment file has a header and frames:
//
//	segment: 8 bytes "varve-o1"
//	         8 bytes segment number
//	         8 bytes random tag
//	         4 bytes CRC-32C of the header up to here
//	         frames
//	frame:   4 bytes length n of the payload
//	         4 bytes CRC-32C of the segment number and the rest of the frame
//	         8 bytes synced: the bytes of the segment that were durable before the frame
//	         1 byte  kind: records, end of the segment
//	         n bytes payload
//
// All integers are little-endian.
const (
	magic       = "varve-o1"
	headerBytes = 8 + 8 + 8 + 4
	frameBytes  = 4 + 4 + 8 + 1 // size of a frame without its payload
	endPayload  = 8 + 8         // bytes of two numbers: the readings of the segment, and the offset of the frame
	endBytes    = frameBytes + endPayload
	maxPayload  = MaxRecord + 64<<10
	suffix      = ".outbox"
)

// Kinds of frames.
const (
	kindRecord byte = 1
	kindEnd    byte = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// name is the identity of a segment.
type name struct {
	number uint64
	tag    uint64
}

// seed returns the initial checksum of all frames: the checksum of the segment's number. It excludes
// the tag, so that frames can be read if the header is damaged.
func (n name) seed() uint32 {
	return crc32.Checksum(binary.LittleEndian.AppendUint64(nil, n.number), castagnoli)
}

func (n name) header() []byte {
	dst := append(make([]byte, 0, headerBytes), magic...)
	dst = binary.LittleEndian.AppendUint64(dst, n.number)
	dst = binary.LittleEndian.AppendUint64(dst, n.tag)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

func parseHeader(data []byte) (n name, ok bool) {
	if len(data) < headerBytes {
		return n, false
	}
	n.number = binary.LittleEndian.Uint64(data[8:])
	n.tag = binary.LittleEndian.Uint64(data[16:])
	return n, string(n.header()) == string(data[:headerBytes])
}

func fileName(number uint64) string { return fmt.Sprintf("%010d%s", number, suffix) }

func parseFileName(file string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimSuffix(file, suffix), 10, 64)
	return n, err == nil && fileName(n) == file
}

// appendFrame appends a frame without its checksum and its field "synced", which completeFrames adds.
func appendFrame(dst []byte, r *Record) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, frameBytes)...)
	dst[at+16] = kindRecord
	dst = binary.AppendUvarint(dst, uint64(r.Readings))
	dst = binary.AppendUvarint(dst, uint64(len(r.Stream)))
	dst = append(dst, r.Stream...)
	dst = append(dst, r.Lines...)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-frameBytes))
	return dst
}

// completeFrames adds the field "synced" and the checksum to all frames in buf. The argument "synced"
// is the number of bytes of the segment that are durable before the first of them.
func (n name) completeFrames(buf []byte, synced int64) {
	seed := n.seed()
	for at := 0; at < len(buf); {
		size := frameBytes + int(binary.LittleEndian.Uint32(buf[at:]))
		f := buf[at : at+size]
		binary.LittleEndian.PutUint64(f[8:], uint64(synced))
		binary.LittleEndian.PutUint32(f[4:], crc32.Update(seed, castagnoli, f[8:]))
		at += size
	}
}

// endFrame returns the end frame of a segment, which is its last one. The argument "at" is the offset
// of the frame.
func (n name) endFrame(at, readings int64) []byte {
	dst := make([]byte, frameBytes, endBytes)
	binary.LittleEndian.PutUint32(dst, endPayload)
	dst[16] = kindEnd
	dst = binary.LittleEndian.AppendUint64(dst, uint64(readings))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(at))
	n.completeFrames(dst, at)
	return dst
}

// frame is a frame whose checksum was correct. Its size is in bytes and includes the payload.
type frame struct {
	kind    byte
	synced  int64
	payload []byte
	size    int
}

// claimed returns the size that the beginning of a frame states, or 0 if no valid frame can begin with
// these bytes.
func claimed(data []byte) int {
	if len(data) < frameBytes {
		return 0
	}
	n := binary.LittleEndian.Uint32(data)
	if n > maxPayload || data[16] != kindRecord && data[16] != kindEnd {
		return 0
	}
	return frameBytes + int(n)
}

func (n name) parse(data []byte) (f frame, ok bool) {
	f.size = claimed(data)
	if f.size == 0 || f.size > len(data) || crc32.Update(n.seed(), castagnoli, data[8:f.size]) != binary.LittleEndian.Uint32(data[4:]) {
		return f, false
	}
	f.kind, f.synced, f.payload = data[16], int64(binary.LittleEndian.Uint64(data[8:])), data[frameBytes:f.size]
	return f, true
}

// end returns the content of an end frame, or false for any other frame.
func (f *frame) end() (readings, at int64, ok bool) {
	if f.kind != kindEnd || len(f.payload) != endPayload {
		return 0, 0, false
	}
	return int64(binary.LittleEndian.Uint64(f.payload)), int64(binary.LittleEndian.Uint64(f.payload[8:])), true
}

// record returns the record in a frame. The record uses the memory of the frame.
func (f *frame) record() (r Record, ok bool) {
	readings, n := binary.Uvarint(f.payload)
	if f.kind != kindRecord || n <= 0 || readings > maxPayload {
		return r, false
	}
	rest := f.payload[n:]
	length, n := binary.Uvarint(rest)
	if n <= 0 || length > uint64(len(rest)-n) {
		return r, false
	}
	rest = rest[n:]
	return Record{Stream: string(rest[:length]), Readings: int(readings), Lines: rest[length:]}, true
}
