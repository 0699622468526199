package rollup

import (
	"github.com/varvedb/varve"
)

// corrections counts corrected readings. Each reading of an hour counts in its newest version.
//
//	arrival day 1    v0 of a, b       partial: a, b
//	arrival day 2    v1 of a, c       partial: a', b, c   replaces the partial of day 1
//
// If the newest version of an earlier reading arrived on a day, the partial of that day counts the
// whole hour. Roll-ups use it instead of the partials of earlier days, which stay as they were.
//
// Such a partial needs all readings of the earlier partials. If one of these readings is no
// longer in a table, the whole hour cannot be recounted. Then the correction does not count, because no
// reading may count in two versions. A stored partial that counts the whole hour stays (see replacingSlots).
type corrections struct {
	open   readingGroup             // the versions of the current reading; empty if it has none
	groups map[int64][]readingGroup // complete groups by hour
	// plain has the readings of slots that the recount does not compute, or that have a filter. It
	// excludes readings that have several versions.
	plain map[slot]*tally
	// superseding are slots with versions that supersede a reading of an earlier arrival day.
	superseding map[slot]bool
	// versioned are slots with readings that have several versions.
	versioned map[slot]bool
}

// readingGroup has the first copies of the versions of a reading, in ascending order.
type readingGroup []groupMember

type groupMember struct {
	reading varve.Reading
	arrival int64 // arrival day, counted from 1970
	isPick  bool  // whether the reading is in aggregate.picks of its slot
}

// newest returns the highest version that arrived by a day, or nil.
func (g readingGroup) newest(arrival int64) *varve.Reading {
	for i := len(g) - 1; i >= 0; i-- {
		if g[i].arrival <= arrival {
			return &g[i].reading
		}
	}
	return nil
}

// newestOf returns the highest version that arrived on a day, or nil.
func (g readingGroup) newestOf(arrival int64) *varve.Reading {
	for i := len(g) - 1; i >= 0; i-- {
		if g[i].arrival == arrival {
			return &g[i].reading
		}
	}
	return nil
}
