package alerts

import (
	"time"

	"github.com/varvedb/varve"
)

// episode is a sequence of readings of a series for which a rule's condition holds long enough.
// It is the subject of one alert.
type episode struct {
	start  varve.Position  // position of the episode's first reading
	opened varve.Position  // position of the first reading at which the condition has held long enough
	end    *varve.Position // the first position after the episode; if nil, the episode is open
	byGap  bool            // a gap ended the episode; then end is just after the gap

	read bool // start was found in a reading, not in a record

	// The following fields are stored in the record, too.
	version   varve.Value // version of the record; zero if the episode is not recorded
	published bool        // the alert has been written as the record describes it
	opening   opening     // data of the reading that opened the alert
	remarks   remarks     // remarks on the alerts that the episode replaces, wholly or partly
}

// endByGap returns the end of an episode that ended because no reading followed within the gap. The
// argument "last" is the time of its last reading, in nanoseconds since 1970. The end is the first
// position that is later than this time by more than the gap.
func endByGap(last int64, gap time.Duration) *varve.Position {
	return &varve.Position{Time: last + int64(gap) + 1, ID: firstID}
}

// resolvedAt returns the time at which the episode ended. The episode must not be open.
func (e *episode) resolvedAt() time.Time {
	if e.byGap {
		return time.Unix(0, e.end.Time-1).UTC()
	}
	return instant(*e.end)
}

func (e *episode) covers(p varve.Position) bool {
	return e.start.Compare(p) <= 0 && (e.end == nil || p.Compare(*e.end) < 0)
}

func (e *episode) extent() extent { return extent{start: e.start, opened: e.opened} }

// isOpened reports whether the episode has lasted long enough to open an alert.
func (e *episode) isOpened() bool { return e.opened != varve.Position{} }

func (e *episode) isRecorded() bool { return !e.version.IsZero() }

// equal reports whether two episodes with the same start have the same opening and the same end.
func (e *episode) equal(q *episode) bool {
	if !e.opening.value.Equal(q.opening.value) { // the opening reading was corrected
		return false
	}
	if e.opened != q.opened || e.byGap != q.byGap || (e.end == nil) != (q.end == nil) {
		return false
	}
	return e.end == nil || *e.end == *q.end
}

// inherit adds the remarks of a recorded episode, and of its alert if that is stored.
//
// A new episode inherits no resolution by hand if it does not cover the start of the recorded episode, and its
// opening is later than the resolution. The person could not know of the new episode. If the readings had
// arrived in order, the new episode would have its own alert.
func (e *episode) inherit(k *episode, old *Alert) {
	from := k.remarks
	if old != nil {
		from = old.remarks()
		from.merge(k.remarks)
	}
	if !e.covers(k.start) && from.resolved.Before(instant(e.opened)) {
		from.resolved = time.Time{}
	}
	e.remarks.merge(from)
}
