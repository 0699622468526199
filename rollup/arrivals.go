package rollup

import (
	"strconv"
	"strings"
)

// arrivals are the first and the last arrival of the readings of a partial, in milliseconds since
// 1970. The zero value means that they are unknown.
type arrivals struct{ first, last int64 }

// add adds an arrival. The parameter "readings" is the number of readings that were added before.
func (a *arrivals) add(readings, at int64) { a.merge(readings, arrivals{at, at}) }

// merge adds the arrivals of another partial. The parameter "readings" is the number of readings that
// were added before. If it is not 0, and a or b is unknown, the result is unknown, too.
func (a *arrivals) merge(readings int64, b arrivals) {
	switch {
	case readings == 0:
		*a = b
	case *a == arrivals{} || b == arrivals{}:
		*a = arrivals{}
	default:
		a.first, a.last = min(a.first, b.first), max(a.last, b.last)
	}
}

// text returns the first arrival, and the number of milliseconds from it to the last arrival, in base 36.
// It returns "" if they are unknown.
func (a arrivals) text() string {
	if a == (arrivals{}) {
		return ""
	}
	return strconv.FormatInt(a.first, arrivalBase) + " " + strconv.FormatInt(a.last-a.first, arrivalBase)
}

const arrivalBase = 36

// parseArrivals parses a text that [arrivals.text] returned. Arrivals that cannot be parsed count
// as unknown. This is harmless, because known arrivals only save recounts.
func parseArrivals(text string) arrivals {
	first, length, _ := strings.Cut(text, " ")
	at, err := strconv.ParseInt(first, arrivalBase, 64)
	n, err2 := strconv.ParseInt(length, arrivalBase, 64)
	if err != nil || err2 != nil {
		return arrivals{}
	}
	return arrivals{at, at + n}
}
