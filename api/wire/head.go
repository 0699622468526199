package wire

import (
	"github.com/varvedb/varve"
)

// headWriter appends the heads of readings, which are their texts up to the fields. A head is usual if
// both conditions hold:
//
//   - No time is before 1970, and the event time is not finer than a millisecond.
//   - The id is a hash.
//
// A usual head has two pieces, with the decimals of the event time in between. The pieces of the previous
// head are copied, and the time of day and the id in the copy are overwritten. Copies of a constant size are
// faster than others. So a piece may be longer than its text, and the next text overwrites the rest.
type headWriter struct {
	first   [firstSize]byte // up to the seconds of the event time
	day     int64           // start of the day in first, in seconds since 1970
	rest    [restSize]byte  // after the decimals of the event time
	restLen int             // length of the text in rest
	arrival int64           // start of the day in rest, in seconds since 1970
	arrived int64           // arrival in rest, in milliseconds since 1970
}

// The texts of the pieces. The decimals of the arrival are between headRest and headEnd.
const (
	headFirst = `{"time":"2006-01-02T15:04:05`
	headRest  = `Z","id":"-----------","arrived":"2006-01-02T15:04:05`
	headEnd   = `Z","fields":{`

	timeAt     = len(`{"time":"`)
	idAt       = len(`Z","id":"`)
	arrivedAt  = idAt + len(`-----------","arrived":"`)
	decimalLen = len(`.000`)

	firstSize = 32
	restSize  = 72
	headSize  = len(headFirst) + decimalLen + restSize
)

// noDate stands for a date that is not set: it is earlier than the date of any time.
const noDate = -2 * secondsPerDay

// reset makes the next head set its dates and its arrival.
func (h *headWriter) reset() {
	copy(h.first[:], headFirst)
	copy(h.rest[:], headRest)
	h.day, h.arrival, h.arrived = noDate, noDate, -1
}

// append appends the head of a reading. If the head is not usual, it returns false.
func (h *headWriter) append(dst []byte, ns, arrived int64, id varve.ID) ([]byte, bool) {
	ms := ns / 1e6
	if ns < 0 || ms*1e6 != ns || arrived < 0 || !isHash(id) {
		return nil, false
	}
	if arrived != h.arrived {
		h.setArrival(arrived)
	}
	sec := ms / 1e3
	if uint64(sec-h.day) >= secondsPerDay {
		h.day = putDay((*[10]byte)(h.first[timeAt:]), sec)
	}
	n := len(dst)
	if cap(dst)-n < headSize {
		dst = append(dst, make([]byte, headSize)...)
	}
	dst = dst[:n+headSize]
	*(*[firstSize]byte)(dst[n:]) = h.first
	putClock((*[8]byte)(dst[n+timeAt+clockAt:]), uint32(sec-h.day))
	n += len(headFirst)
	n += putMillis((*[decimalLen]byte)(dst[n:]), uint32(ms-sec*1e3))
	*(*[restSize]byte)(dst[n:]) = h.rest
	id.Append(dst[n+idAt : n+idAt])
	return dst[:n+h.restLen], true
}

// setArrival changes the arrival, which is in milliseconds since 1970.
func (h *headWriter) setArrival(arrived int64) {
	sec := arrived / 1e3
	if uint64(sec-h.arrival) >= secondsPerDay {
		h.arrival = putDay((*[10]byte)(h.rest[arrivedAt:]), sec)
	}
	putClock((*[8]byte)(h.rest[arrivedAt+clockAt:]), uint32(sec-h.arrival))
	n := len(headRest)
	n += putMillis((*[decimalLen]byte)(h.rest[n:]), uint32(arrived-sec*1e3))
	h.restLen = n + copy(h.rest[n:], headEnd)
	h.arrived = arrived
}

// putDay writes the date of a time, and returns the start of this day. Both times are in seconds since
// 1970.
func putDay(dst *[10]byte, sec int64) int64 {
	day := floorDiv(sec, secondsPerDay)
	putDate(dst, day)
	return day * secondsPerDay
}

// putMillis writes the decimals of a time, as in .067, and returns their length without trailing zeros. For
// a whole second, it returns 0.
func putMillis(dst *[decimalLen]byte, ms uint32) int {
	dst[0], dst[1], dst[2], dst[3] = '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10)
	switch {
	case ms%10 != 0:
		return len(`.000`)
	case ms%100 != 0:
		return len(`.00`)
	case ms != 0:
		return len(`.0`)
	}
	return 0
}

// appendRareHead appends any head.
func (w *RowWriter) appendRareHead(dst []byte, ns, arrived int64, id varve.ID) []byte {
	dst = append(dst, `{"time":"`...)
	dst = w.time.appendNano(dst, ns)
	dst = append(dst, `","id":`...)
	dst = appendVersion(appendID(dst, id), id)
	dst = append(dst, `,"arrived":"`...)
	dst = w.arrived.appendMilli(dst, arrived)
	return append(dst, `","fields":{`...)
}
