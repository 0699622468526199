package fleet

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"

	"github.com/varvedb/varve"
)

// Page is a run of a list.
type Page[T any] struct {
	Items []T
	Next  string // the cursor of the page that follows; "": there is none
}

const cursorVersion = 1

// checksumBytes is the length of the checksum at the end: a cursor that lost
// its tail would be one of another place.
const checksumBytes = 4

// encodeCursor returns a place in a list as text that is good for one question
// of one tenant only.
func encodeCursor(question []string, place ...string) string {
	b := binary.LittleEndian.AppendUint64([]byte{cursorVersion}, fingerprint(question))
	for _, part := range place {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// fingerprint tells one question from another.
func fingerprint(question []string) uint64 {
	h := fnv.New64a()
	for _, part := range question {
		// A hash.Hash never returns an error.
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return h.Sum64()
}

// parseCursor reads what encodeCursor wrote, for the same question: a place of n
// parts. It fails with Invalid, parameter cursor.
func parseCursor(text string, question []string, n int) ([]string, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 9+checksumBytes || b[0] != cursorVersion {
		return nil, badCursor()
	}
	end := len(b) - checksumBytes
	if crc32.ChecksumIEEE(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, badCursor()
	}
	if binary.LittleEndian.Uint64(b[1:]) != fingerprint(question) {
		return nil, varve.InvalidParam("cursor", "this cursor belongs to another list: send it with the same parameters as the page that it came with")
	}
	var place []string
	for b = b[9:end]; len(b) > 0; {
		size, used := binary.Uvarint(b)
		if used <= 0 || size > uint64(len(b)-used) {
			return nil, badCursor()
		}
		b = b[used:]
		place, b = append(place, string(b[:size])), b[size:]
	}
	if len(place) != n {
		return nil, badCursor()
	}
	return place, nil
}

func badCursor() error {
	return varve.InvalidParam("cursor", "this is not a cursor: use the value of next as it came")
}

// Limits of pages.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// limitOf returns how many entries a page has that was asked for so many.
func limitOf(limit int) (int, error) {
	switch {
	case limit == 0:
		return DefaultLimit, nil
	case limit < 0 || limit > MaxLimit:
		return 0, varve.InvalidParam("limit", "%d is not from 1 to %d", limit, MaxLimit)
	}
	return limit, nil
}
