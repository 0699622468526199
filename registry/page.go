package registry

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"

	"github.com/varvedb/varve"
)

// Page is a part of a list.
type Page[T any] struct {
	Items []T
	Next  string // cursor of the next page; "" if this is the last page
}

const cursorVersion = 1

// checksumBytes is the length of the checksum at the end of a cursor. Without a checksum, a
// truncated cursor could be valid, and continue the list after a wrong entry.
const checksumBytes = 4

// EncodeCursor returns a cursor that continues a list. The argument "place" identifies the last
// entry of the page before. The argument "question" is the kind of the list, its tenant and its
// parameters, and the cursor is valid only for an equal question.
func EncodeCursor(question []string, place ...string) string {
	b := binary.LittleEndian.AppendUint64([]byte{cursorVersion}, hashOf(question))
	for _, part := range place {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

func hashOf(question []string) uint64 {
	h := fnv.New64a()
	for _, part := range question {
		// A hash.Hash never returns an error.
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return h.Sum64()
}

// ParseCursor returns the n texts that were the argument "place" of EncodeCursor. If the cursor
// is invalid, or belongs to another question, ParseCursor fails with an Invalid error for the
// parameter "cursor".
func ParseCursor(text string, question []string, n int) ([]string, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 9+checksumBytes || b[0] != cursorVersion {
		return nil, InvalidCursor()
	}
	end := len(b) - checksumBytes
	if crc32.ChecksumIEEE(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, InvalidCursor()
	}
	if binary.LittleEndian.Uint64(b[1:]) != hashOf(question) {
		return nil, varve.InvalidParam("cursor", "this cursor belongs to another list: send it with the same parameters as the page that it came with")
	}
	var place []string
	for b = b[9:end]; len(b) > 0; {
		size, used := binary.Uvarint(b)
		if used <= 0 || size > uint64(len(b)-used) {
			return nil, InvalidCursor()
		}
		b = b[used:]
		place, b = append(place, string(b[:size])), b[size:]
	}
	if len(place) != n {
		return nil, InvalidCursor()
	}
	return place, nil
}

// InvalidCursor returns the error for an invalid cursor.
func InvalidCursor() error {
	return varve.InvalidParam("cursor", "this is not a cursor: use the value of next as it came")
}

// The default and the largest number of entries in a page.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// PageLimit returns the length of a page for a requested limit, where 0 means DefaultLimit. If the
// limit is out of range, PageLimit fails with an Invalid error for the parameter "limit".
func PageLimit(limit int) (int, error) {
	switch {
	case limit == 0:
		return DefaultLimit, nil
	case limit < 0 || limit > MaxLimit:
		return 0, varve.InvalidParam("limit", "%d is not from 1 to %d", limit, MaxLimit)
	}
	return limit, nil
}
