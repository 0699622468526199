package alerts

import (
	"time"

	"github.com/varvedb/varve"
)

// lastSeen is the time at which a device was last seen. It is known only roughly: the true time is
// in the range [at, at+late].
type lastSeen struct {
	at   time.Time // zero if the device was never seen
	late time.Duration
}

// position returns the position at which the silence of the device begins.
func (s lastSeen) position() varve.Position {
	return varve.Position{Time: s.at.UnixNano(), ID: firstID}
}

// silentFor reports whether a device has been silent for d, even if it was seen as late as
// possible.
func (s lastSeen) silentFor(d time.Duration, now time.Time) bool { return now.Sub(s.at) >= d+s.late }
