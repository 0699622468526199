package rollup

import (
	"time"

	"github.com/varvedb/varve/lease"
)

// Because of the margins, a writer and the aggregator never use the same marker at the same time,
// although each has its own clock. Each marker has an end, which is part of its key. Around that
// end, the following happens:
//
//	                 end-5m             end-1m         end               end+15m
//	────────────────────┼──────────────────┼────────────┼───────────────────┼──▶
//	writers rely on it  │ writers put a    │ pending    │ clocks may differ │ the aggregator
//	                    │ marker with a    │ writes are │ by ten minutes    │ recounts its hours
//	                    │ later end        │ canceled   │                   │ and deletes it
//	                    └─ validityMargin  └─ writeMargin                   └─ markerGrace
//
// The marker of the current hour ends markerRounding after the hour. A marker of another hour
// ends at the second multiple of markerRounding from now. Around midnight, markers are put for two
// arrival days:
//
//	             23:45                       00:00
//	───────────────┼───────────────────────────┼──▶
//	arrival day D  │ arrival days D and D+1    │ arrival day D+1
//	               └─ dayOverlap
const (
	// validityMargin is the time before a marker's end in which no new write may rely on it.
	validityMargin = 5 * time.Minute
	// writeMargin is the time before a marker's end at which all writes that rely on it have ended.
	writeMargin = time.Minute
	// markerGrace is the time between a marker's end and its processing by the aggregator. It
	// covers clock skew and requests that are still running.
	markerGrace = lease.MaxClockSkew + 5*time.Minute
	// markerRounding is the unit to which marker ends are rounded, so that several writers put
	// equal markers.
	markerRounding = 30 * time.Minute
	// dayOverlap is the time before the start of a day or an hour in which another process's clock
	// may already be past the start.
	dayOverlap = lease.MaxClockSkew + 5*time.Minute
	// RecountWindow is how long after their arrival readings may be needed to recompute a roll-up that
	// has no marker. It covers the rest of the arrival day, and two more days in which writers may
	// resend the readings.
	RecountWindow = 3 * 24 * time.Hour
)

// lateMarkerEnd returns the end, in Unix seconds, of a marker for an hour other than the current
// one.
func lateMarkerEnd(now int64) int64 {
	unit := int64(markerRounding / time.Second)
	return now/unit*unit + 2*unit
}
