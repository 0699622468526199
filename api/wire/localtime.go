package wire

import (
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// LocalChoice selects the instant of a local time that occurs twice or never, because clocks
// change.
type LocalChoice uint8

// The choices. A local time never occurs if clocks skip it when they go forward. EarlierLocal reads such
// a time with the difference from UTC after the change, and LaterLocal with the difference before.
const (
	RejectLocal LocalChoice = iota // no instant is selected: the time is rejected
	EarlierLocal
	LaterLocal
)

// ParseLocalChoice parses "earlier" or "later". The default for "" is rejection.
func ParseLocalChoice(text string) (LocalChoice, error) {
	switch text {
	case "":
		return RejectLocal, nil
	case "earlier":
		return EarlierLocal, nil
	case "later":
		return LaterLocal, nil
	}
	return 0, fmt.Errorf("%s is unknown: use earlier or later", quote.Text(text))
}

// maxShift is longer than the largest change of clocks. At least this far from a change, a local time
// occurs once.
const maxShift = 26 * time.Hour

// chooseLocal returns the instant of a local time. The argument "wall" is the local date and time of day,
// as if in UTC. The argument t is the instant that time.ParseInLocation returned.
func (f TimeFormat) chooseLocal(text string, wall, t time.Time) (time.Time, varve.Verdict) {
	begin, end := t.ZoneBounds()
	change := end
	if !begin.IsZero() && t.Sub(begin) < maxShift {
		change = begin
	}
	if change.IsZero() || change.Sub(t).Abs() >= maxShift {
		return inRange(t)
	}
	_, before := change.Add(-1).Zone()
	_, after := change.Zone()
	earlier := wall.Add(-time.Duration(max(before, after)) * time.Second)
	later := wall.Add(-time.Duration(min(before, after)) * time.Second)
	first, second := isLocal(earlier, wall, t.Location()), isLocal(later, wall, t.Location())
	switch {
	case first != second || earlier.Equal(later):
		return inRange(t)
	case f.Choice == EarlierLocal:
		return inRange(earlier)
	case f.Choice == LaterLocal:
		return inRange(later)
	}
	problem := "occurs twice"
	if !first {
		problem = "never occurs"
	}
	return time.Time{}, varve.Reject(varve.CodeTimeInvalid, "time %s %s in %s: send dst=earlier or dst=later, or an offset as in +01:00",
		clip(text), problem, t.Location())
}

// isLocal reports whether, at an instant, the clocks of a zone show the given local time. The
// argument "wall" is this date and time of day, as if in UTC.
func isLocal(at, wall time.Time, zone *time.Location) bool {
	_, offset := at.In(zone).Zone()
	return at.Add(time.Duration(offset) * time.Second).Equal(wall)
}
