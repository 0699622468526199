package alerts

import (
	"cmp"
	"slices"

	"github.com/varvedb/varve"
)

// plan is the difference between wanted and recorded episodes.
type plan struct {
	// write has the episodes to be recorded and published, in the order of writing.
	write []episode
	// remove has the recorded episodes that are not wanted.
	remove []episode
}

func (p *plan) isEmpty() bool { return len(p.write) == 0 && len(p.remove) == 0 }

// planOf returns the plan that turns the recorded episodes into the wanted ones, which are sorted
// by start. The argument "contested" has the starts of episodes that another process has changed
// since they were read. planOf is a pure function.
func planOf(found *findings, known *history, contested map[varve.Position]bool) (p plan) {
	p.remove = unwanted(found, known)
	p.write = differing(found, known, p.remove, contested)
	return p
}

// unwanted returns the recorded episodes to be removed. A recorded episode is removed if no wanted
// episode has the same start, and if one of three conditions holds:
//
//   - it begins before lo and covers lo, so evaluate would have found it;
//   - a wanted episode that begins earlier covers its start;
//   - its first reading is stored, and is not after hi.
//
// So an episode whose readings are deleted usually stays.
func unwanted(found *findings, known *history) (gone []episode) {
	wanted := sortedTimeline(found.wanted)
	for _, k := range known.recorded.episodes {
		if startsAt(found.wanted, k.start) {
			continue
		}
		short := k.covers(found.lo) && k.start != found.lo
		if short || wanted.covering(k.start) != nil || found.stored[k.start] && k.start.Compare(found.hi) <= 0 {
			gone = append(gone, k)
		}
	}
	return gone
}

// differing returns the episodes whose record is missing, differs from the wanted one, is not
// published, or is contested.
func differing(found *findings, known *history, removed []episode, contested map[varve.Position]bool) (differ []episode) {
	for _, e := range found.wanted {
		old := known.recorded.at(e.start)
		switch {
		case old == nil:
		case e.equal(old) && old.published && !contested[e.start]:
			continue
		default:
			e.version, e.remarks = old.version, old.remarks
		}
		if differ == nil {
			differ = make([]episode, 0, len(found.wanted))
		}
		differ = append(differ, e)
	}
	for _, k := range known.recorded.episodes {
		// An unpublished episode whose first reading is deleted is neither wanted nor removed. Write it
		// with its recorded content, so that it is published. Write contested episodes once more, too.
		deleted := !k.published && !found.stored[k.start] && k.start.Compare(found.hi) <= 0
		if (deleted || contested[k.start]) && !startsAt(found.wanted, k.start) && !startsAt(removed, k.start) {
			differ = append(differ, k)
		}
	}
	// New episodes are written first, the latest before the others. So if an episode is split,
	// its later parts are recorded before it is shortened.
	slices.SortFunc(differ, func(a, b episode) int { return cmp.Or(cmp.Compare(rank(&a), rank(&b)), b.start.Compare(a.start)) })
	return differ
}

// rank returns 1 for a recorded episode, and 0 for a new one.
func rank(e *episode) int {
	if e.isRecorded() {
		return 1
	}
	return 0
}
