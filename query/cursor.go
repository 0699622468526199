package query

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"
	"math"
	"time"

	"github.com/varvedb/varve"
)

// Cursor is the position after which the next page begins.
//
// It refers to no tables, so tables may be created, tuned or dropped between pages. It contains
// the absolute window and AsOf of the first page, so times relative to now stay the same.
type Cursor struct {
	Window varve.Window
	AsOf   time.Time // see Query.AsOf
	After  varve.Position
}

// Versions of cursors.
const (
	cursorVersion     = 1
	cursorVersionAsOf = 2 // the cursor has an AsOf
)

// checksumBytes is the length of the checksum at the end of a cursor. The checksum detects
// truncated cursors.
const checksumBytes = 4

// Encode returns the cursor as text. The text is valid only for the same series, order and
// window parameters.
func (c Cursor) Encode(s varve.Series, o varve.Order, from, to string) string {
	b := []byte{cursorVersion}
	if !c.AsOf.IsZero() {
		b[0] = cursorVersionAsOf
	}
	b = binary.LittleEndian.AppendUint64(b, hashOf(s, o, from, to))
	b = binary.AppendVarint(b, nanos(c.Window.From))
	b = binary.AppendVarint(b, nanos(c.Window.To))
	if !c.AsOf.IsZero() {
		b = binary.AppendVarint(b, nanos(c.AsOf))
	}
	b = binary.AppendVarint(b, c.After.Time)
	b = c.After.ID.AppendKey(b)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// nanos returns t in nanoseconds since 1970. It returns -1 for earlier times, and the largest
// integer for times after the last event time.
func nanos(t time.Time) int64 {
	all := varve.AllTime()
	switch {
	case t.Before(all.From):
		return -1
	case !t.Before(all.To):
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

func hashOf(s varve.Series, o varve.Order, from, to string) uint64 {
	h := fnv.New64a()
	for _, part := range []string{s.Tenant, s.Stream, s.Device, o.String(), from, to} {
		// A hash.Hash never returns an error.
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return h.Sum64()
}

// ParseCursor parses the text of Encode for the same query. Its errors are of kind Invalid and name
// the parameter "cursor".
func ParseCursor(text string, s varve.Series, o varve.Order, from, to string) (Cursor, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 9+checksumBytes || b[0] != cursorVersion && b[0] != cursorVersionAsOf {
		return Cursor{}, badCursor()
	}
	end := len(b) - checksumBytes
	if crc32.ChecksumIEEE(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return Cursor{}, badCursor()
	}
	b = b[:end]
	if binary.LittleEndian.Uint64(b[1:]) != hashOf(s, o, from, to) {
		return Cursor{}, varve.InvalidParam("cursor",
			"belongs to another query: use the device, order, from and to of its page")
	}
	times := make([]int64, 2+b[0])
	b = b[9:]
	for i := range times {
		v, n := binary.Varint(b)
		if n <= 0 {
			return Cursor{}, badCursor()
		}
		times[i], b = v, b[n:]
	}
	id, err := varve.ParseKey(string(b))
	if err != nil {
		return Cursor{}, badCursor()
	}
	c := Cursor{
		Window: varve.Window{From: time.Unix(0, times[0]).UTC(), To: time.Unix(0, times[1]).UTC()},
		After:  varve.Position{Time: times[len(times)-1], ID: id},
	}
	if len(times) > 3 {
		c.AsOf = time.Unix(0, times[2]).UTC()
	}
	return c, nil
}

func badCursor() error {
	return varve.InvalidParam("cursor", "malformed: use the unchanged value of next")
}
