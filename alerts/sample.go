package alerts

import (
	"time"

	"github.com/varvedb/varve"
)

// lateFrom is the minimum delay between the event time and the arrival of a late reading.
const lateFrom = time.Hour

// sample is the part of a reading that matters to a rule.
type sample struct {
	at    varve.Position
	holds bool // the condition holds
	opening
}

// opening is the part of a reading that an alert shows if the reading opens it.
type opening struct {
	value varve.Value
	late  bool
}

// samples yields the samples of a series until yield returns false. A sample is valid until yield
// returns. An error means that samples could not be read.
type samples interface {
	// before yields the samples before a position, the latest first.
	before(p varve.Position, yield func(*sample) bool) error
	// from yields the samples at a position and after it, in order.
	from(p varve.Position, yield func(*sample) bool) error
}
