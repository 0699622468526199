package alerts

import (
	"slices"
	"sort"

	"github.com/varvedb/varve"
)

// timeline has episodes sorted by start. They do not overlap, unless an evaluation was interrupted.
type timeline struct {
	episodes []episode
	// ends[i] is the latest end among the episodes up to i; nil if one of them is open.
	ends []*varve.Position
}

func timelineOf(episodes ...episode) timeline {
	sorted := slices.Clone(episodes)
	slices.SortStableFunc(sorted, func(a, b episode) int { return a.start.Compare(b.start) })
	return sortedTimeline(sorted)
}

// sortedTimeline returns a timeline of episodes that are sorted by start. It does not copy them.
func sortedTimeline(episodes []episode) timeline {
	t := timeline{episodes: episodes, ends: make([]*varve.Position, 0, len(episodes))}
	for i := range t.episodes {
		end := t.episodes[i].end
		if i > 0 && (t.ends[i-1] == nil || end != nil && t.ends[i-1].Compare(*end) > 0) {
			end = t.ends[i-1]
		}
		t.ends = append(t.ends, end)
	}
	return t
}

func (t *timeline) with(more ...episode) timeline { return timelineOf(append(t.episodes, more...)...) }

// at returns the episode that begins at a position, or nil if it is missing.
func (t *timeline) at(start varve.Position) *episode {
	if i := t.from(start); i < len(t.episodes) && t.episodes[i].start == start {
		return &t.episodes[i]
	}
	return nil
}

// from returns the index of the first episode that begins at a position or later.
func (t *timeline) from(p varve.Position) int {
	return sort.Search(len(t.episodes), func(i int) bool { return t.episodes[i].start.Compare(p) >= 0 })
}

// covering returns the latest episode that covers a position, or nil if none does.
func (t *timeline) covering(p varve.Position) *episode {
	return t.latest(p, func(e *episode) bool { return e.covers(p) })
}

// isInside reports whether a position is in an episode that begins before it.
func (t *timeline) isInside(p varve.Position) bool {
	return t.latest(p, func(e *episode) bool { return e.covers(p) && e.start != p }) != nil
}

// upTo returns the latest episode that begins before a position and does not end before it, or nil if
// no episode does.
func (t *timeline) upTo(p varve.Position) *episode {
	return t.latest(p, func(e *episode) bool { return e.start != p && (e.end == nil || e.end.Compare(p) >= 0) })
}

// latest returns the last episode that begins at a position or before and meets a condition, or nil if
// no episode does. It may skip episodes that end before the position.
func (t *timeline) latest(p varve.Position, meets func(*episode) bool) *episode {
	for i := t.from(p) + 1; i > 0; i-- {
		if i > len(t.episodes) || t.episodes[i-1].start.Compare(p) > 0 {
			continue
		}
		if end := t.ends[i-1]; end != nil && end.Compare(p) < 0 {
			return nil
		}
		if meets(&t.episodes[i-1]) {
			return &t.episodes[i-1]
		}
	}
	return nil
}

// overlapping returns the episodes that overlap e, except an episode with the same start.
func (t *timeline) overlapping(e *episode) (all []*episode) {
	i := t.from(e.start)
	for j := i; j > 0; j-- {
		if end := t.ends[j-1]; end != nil && end.Compare(e.start) <= 0 {
			break
		}
		if t.episodes[j-1].covers(e.start) {
			all = append(all, &t.episodes[j-1])
		}
	}
	for ; i < len(t.episodes) && e.covers(t.episodes[i].start); i++ {
		if t.episodes[i].start != e.start {
			all = append(all, &t.episodes[i])
		}
	}
	return all
}

// startsAt reports whether an episode begins at a position. The episodes must be sorted by start.
func startsAt(episodes []episode, start varve.Position) bool {
	_, found := slices.BinarySearchFunc(episodes, start, func(e episode, p varve.Position) int { return e.start.Compare(p) })
	return found
}
