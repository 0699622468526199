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

// instant returns the time of a position.
func instant(p varve.Position) time.Time { return time.Unix(0, p.Time).UTC() }

// positionText returns a position as text that sorts as positions from 1970 on do.
func positionText(p varve.Position) string { return hexTime(p.Time) + "#" + p.ID.String() }

// keyAfter returns the least sort key after a position.
func keyAfter(p varve.Position) string { return positionText(p) + "\x00" }

// hexTime returns a time in nanoseconds as text of a fixed width.
func hexTime(nanos int64) string {
	if nanos < 0 {
		return fmt.Sprintf("%016x", nanos)
	}
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(nanos))
	return hex.EncodeToString(raw[:])
}

// parsePosition decodes the text of a position from 1970 on. It inverts positionText.
func parsePosition(text string) (p varve.Position, err error) {
	at, id, _ := strings.Cut(text, "#")
	if p.Time, err = strconv.ParseInt(at, 16, 64); err == nil {
		p.ID, err = varve.ParseID(id)
	}
	return p, err
}
