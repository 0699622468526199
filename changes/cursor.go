package changes

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"
	"time"

	"github.com/varvedb/varve"
)

// Cursor is a point in the changes of a stream or a device. All readings that arrived before Since
// were returned.
//
// If Until is set, the readings that arrived from Since up to Until were returned in part: in the
// order of devices, up to Device. If Part is set, the readings of that device were returned up to
// After.
type Cursor struct {
	Epoch  int64 // number of the epoch; 0 for the first epoch, and for a cursor of FromTime
	Since  time.Time
	Until  time.Time
	Device string
	Part   bool
	After  varve.Position

	fromTime bool // the cursor is a time, and valid in each epoch
}

// FromTime returns the cursor before the readings that arrive at a time or later.
func FromTime(t time.Time) Cursor {
	return Cursor{Since: t.UTC().Add(time.Millisecond - 1).Truncate(time.Millisecond), fromTime: true}
}

const (
	cursorVersion = 1
	// checksumBytes is the length of the checksum at the end. It detects truncated cursors.
	checksumBytes = 4
)

// Encode returns the cursor as text. The text is valid only for the same stream and the same device. The
// device is empty for changes of all devices.
func (c Cursor) Encode(s Stream, device string) string {
	b := binary.LittleEndian.AppendUint64([]byte{cursorVersion}, fingerprint(s, device))
	b = binary.AppendVarint(b, c.Epoch)
	b = binary.AppendVarint(b, c.Since.UnixMilli())
	if !c.Until.IsZero() {
		b = binary.AppendVarint(b, c.Until.UnixMilli())
		b = append(binary.AppendUvarint(b, uint64(len(c.Device))), c.Device...)
		if c.Part {
			b = binary.AppendVarint(b, c.After.Time)
			b = c.After.ID.AppendKey(b)
		}
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

func fingerprint(s Stream, device string) uint64 {
	h := fnv.New64a()
	for _, part := range []string{"changes", s.Tenant, s.Name, device} {
		// A hash.Hash never returns an error.
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return h.Sum64()
}

// IsCursor reports whether a text is a cursor, rather than a time.
func IsCursor(text string) bool {
	_, ok := decode(text)
	return ok
}

// decode returns the bytes of a cursor without its checksum.
func decode(text string) ([]byte, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 11+checksumBytes || b[0] != cursorVersion {
		return nil, false
	}
	end := len(b) - checksumBytes
	return b[:end], crc32.ChecksumIEEE(b[:end]) == binary.LittleEndian.Uint32(b[end:])
}

// ParseCursor parses the text of Encode for the same stream and device. For another text,
// ParseCursor fails with Invalid, and the error names the parameter "since".
func ParseCursor(text string, s Stream, device string) (c Cursor, err error) {
	b, ok := decode(text)
	if !ok {
		return c, badCursor()
	}
	if binary.LittleEndian.Uint64(b[1:]) != fingerprint(s, device) {
		return c, varve.InvalidParam("since", "the cursor belongs to another stream or device: use it with that one, or use a time")
	}
	r := numbers{rest: b[9:]}
	c.Epoch, c.Since = r.next(), time.UnixMilli(r.next()).UTC()
	if r.bad || len(r.rest) == 0 {
		return c, r.err()
	}
	c.Until = time.UnixMilli(r.next()).UTC()
	size, n := binary.Uvarint(r.rest)
	if n <= 0 || size > uint64(len(r.rest)-n) {
		return c, badCursor()
	}
	c.Device, r.rest = string(r.rest[n:n+int(size)]), r.rest[n+int(size):]
	if len(r.rest) == 0 {
		return c, r.err()
	}
	c.Part, c.After.Time = true, r.next()
	if c.After.ID, err = varve.ParseKey(string(r.rest)); err != nil {
		return c, badCursor()
	}
	return c, r.err()
}

// numbers decodes varints from bytes. The field bad is set once a number is malformed.
type numbers struct {
	rest []byte
	bad  bool
}

func (r *numbers) next() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *numbers) err() error {
	if r.bad {
		return badCursor()
	}
	return nil
}

func badCursor() error {
	return varve.InvalidParam("since", "malformed: use a time, or the unchanged value of next")
}
