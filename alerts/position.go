package alerts

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
)

// firstID sorts before the ids of readings.
var firstID = varve.HashID(0)

// positionOf returns the position of a reading without its version. Only the newest version of a reading
// is a sample. So an episode stays the same if its first reading is corrected.
func positionOf(r *varve.Reading) varve.Position {
	p := r.Position()
	p.ID = p.ID.WithVersion(0)
	return p
}

func instant(p varve.Position) time.Time { return time.Unix(0, p.Time).UTC() }

// positionText returns a position as text. The texts of positions since 1970 sort in the order of
// the positions.
func positionText(p varve.Position) string {
	var text [positionLen]byte
	return string(appendPosition(text[:0], p))
}

// positionLen is the length of the text of a position whose id is a hash.
const positionLen = hexTimeLen + 1 + 11

func appendPosition(dst []byte, p varve.Position) []byte {
	return p.ID.AppendKey(append(appendHexTime(dst, p.Time), '#'))
}

// keyAfter returns the smallest sort key after a position.
func keyAfter(p varve.Position) string { return positionText(p) + "\x00" }

const hexTimeLen = 16

// appendHexTime appends a time in nanoseconds as text of a fixed width.
func appendHexTime(dst []byte, nanos int64) []byte {
	if nanos < 0 {
		return fmt.Appendf(dst, "%0*x", hexTimeLen, nanos)
	}
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(nanos))
	return hex.AppendEncode(dst, raw[:])
}

// parsePosition decodes the text of a position since 1970. It inverts positionText.
func parsePosition(text string) (p varve.Position, err error) {
	at, id, _ := strings.Cut(text, "#")
	if p.Time, err = strconv.ParseInt(at, 16, 64); err == nil {
		p.ID, err = varve.ParseKey(id)
	}
	return p, err
}
