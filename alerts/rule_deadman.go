package alerts

import (
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/timefmt"
)

// Deadman is the kind of rules that open an alert when a device stops reporting.
const Deadman Kind = "deadman"

func init() { kinds[Deadman] = deadmanKind{} }

// leastSilence is the smallest Rule.For of a deadman rule. Last-seen times are only precise to the
// minute.
const leastSilence = time.Minute

type deadmanKind struct{}

func (deadmanKind) needsStreamOrDevice() bool { return false }

func (deadmanKind) describe(r *Rule) string { return "no reading for " + timefmt.FormatDuration(r.For) }

func (deadmanKind) check(r *Rule) error {
	switch {
	case r.Field != "":
		return varve.InvalidParam("field", "a deadman rule has no field: leave it out")
	case r.Comparison != "":
		return varve.InvalidParam("comparison", "a deadman rule compares nothing: leave it out")
	case !r.Threshold.IsZero():
		return varve.InvalidParam("threshold", "a deadman rule has no threshold: set the time without a reading in for")
	case r.Gap != 0:
		return varve.InvalidParam("gap", "a deadman rule has no gap: set the time without a reading in for")
	case r.For < leastSilence || r.For > 365*24*time.Hour:
		return varve.InvalidParam("for", "%s is not from %s to 1y", timefmt.FormatDuration(r.For), timefmt.FormatDuration(leastSilence))
	}
	return nil
}

// evaluate implements clockKind. An open episode that begins before the device was last seen ends
// at the last-seen time. A silence that is long enough becomes a new episode, unless a recorded
// episode begins at that time or later.
func (deadmanKind) evaluate(r *Rule, seen lastSeen, now time.Time, recorded []episode) (wanted []episode, open bool) {
	at := seen.position()
	known := false
	for _, old := range recorded {
		// If the episode begins at the last-seen time, it is about the current silence. If it begins
		// later, another process has recorded a later silence. In both cases, no new episode is wanted.
		if old.start.Compare(at) >= 0 {
			known, open = true, open || old.end == nil
			continue
		}
		if old.end == nil {
			old.end = &at
			wanted = append(wanted, old)
		}
	}
	if !known && seen.silentFor(r.For, now) {
		opened := at
		opened.Time += int64(r.For)
		wanted = append(wanted, episode{start: at, opened: opened})
	}
	return wanted, open
}
