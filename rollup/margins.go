package rollup

import (
	"time"

	"github.com/varvedb/varve/lease"
)

// The margins separate a writer from the aggregator, although each uses its own clock. A
// marker has an end, which is part of its key. Around that end:
//
//	                 end-5m             end-1m         end               end+15m
//	────────────────────┼──────────────────┼────────────┼───────────────────┼──▶
//	writers rely on it  │ writers put a    │ pending    │ clocks may differ │ the aggregator
//	                    │ marker with a    │ writes are │ by ten minutes    │ recounts its hours
//	                    │ later end        │ cancelled  │                   │ and deletes it
//	                    └─ validityMargin  └─ writeMargin                   └─ markerGrace
//
// The marker of the current hour ends markerRounding after that hour. A marker of another
// hour ends between one and two markerRounding from now, at a multiple of it. Around midnight,
// arrivals of both days are marked:
//
//	             23:45                       00:00
//	───────────────┼───────────────────────────┼──▶
//	arrival day D  │ arrival days D and D+1    │ arrival day D+1
//	               └─ dayOverlap
const (
	// validityMargin is the time before a marker's end from which no new write relies on it.
	validityMargin = 5 * time.Minute
	// writeMargin is the time before a marker's end at which writes that rely on it must end.
	writeMargin = time.Minute
	// markerGrace is the wait after a marker's end before the aggregator processes it. It
	// covers the skew of clocks, and requests that are under way.
	markerGrace = lease.MaxClockSkew + 5*time.Minute
	// markerRounding is the unit of marker ends, so that several writers put equal markers.
	markerRounding = 30 * time.Minute
	// dayOverlap is the time before the start of a day or an hour. During it, the clock of
	// another process may be past the start.
	dayOverlap = lease.MaxClockSkew + 5*time.Minute
	// RecountWindow is the time for which arrived readings may be needed to recompute a roll-up
	// without a marker. It covers the rest of their arrival day, and two days in which writers
	// may resend them.
	RecountWindow = 3 * 24 * time.Hour
)

// lateMarkerEnd returns the end of a marker for an hour that is not current, in unix seconds.
func lateMarkerEnd(now int64) int64 {
	unit := int64(markerRounding / time.Second)
	return now/unit*unit + 2*unit
}
