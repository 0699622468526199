package alerts

import (
	"time"

	"github.com/varvedb/varve"
)

// readingKind is a kind that is evaluated after each write, from stored readings.
type readingKind interface {
	ruleKind
	// sample sets *one to the sample of a reading, and reports whether the reading matters to the
	// rule. It always sets the position.
	sample(r *Rule, reading *varve.Reading, one *sample) (counts bool)
}

// clockKind is a kind that is evaluated every minute, from the time at which a device
// was last seen.
type clockKind interface {
	ruleKind
	// evaluate returns the wanted episodes of a device that differ from the recorded ones. It
	// also reports whether a recorded episode about the current silence is open. It is a pure
	// function.
	evaluate(r *Rule, seen lastSeen, now time.Time, recorded []episode) (wanted []episode, open bool)
}

// byReadings returns the kind of a rule that is evaluated after each write, or nil for
// other rules.
func (r *Rule) byReadings() readingKind {
	k, _ := kinds[r.Kind].(readingKind)
	return k
}

// byClock returns the kind of a rule that is evaluated every minute, or nil for other
// rules.
func (r *Rule) byClock() clockKind {
	k, _ := kinds[r.Kind].(clockKind)
	return k
}
