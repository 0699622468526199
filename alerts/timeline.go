package alerts

import (
	"slices"
	"sort"

	"github.com/varvedb/varve"
)

// timeline is recorded episodes in the order of their starts. They do not
// overlap, unless an evaluation was cut off.
type timeline struct {
	runs []run
	// last is where the longest of the episodes up to each of runs ends; nil if it
	// goes on.
	last []*varve.Position
}

func timelineOf(runs ...run) timeline {
	t := timeline{runs: slices.Clone(runs)}
	slices.SortStableFunc(t.runs, func(a, b run) int { return a.start.Compare(b.start) })
	for i := range t.runs {
		end := t.runs[i].end
		if i > 0 && (t.last[i-1] == nil || end != nil && t.last[i-1].Compare(*end) > 0) {
			end = t.last[i-1]
		}
		t.last = append(t.last, end)
	}
	return t
}

// at returns the episode of a start; nil if there is none.
func (t *timeline) at(start varve.Position) *run {
	if i := t.from(start); i < len(t.runs) && t.runs[i].start == start {
		return &t.runs[i]
	}
	return nil
}

// from returns the index of the first episode that begins at a position or later.
func (t *timeline) from(p varve.Position) int {
	return sort.Search(len(t.runs), func(i int) bool { return t.runs[i].start.Compare(p) >= 0 })
}

// covering returns an episode that a position lies in: the one that begins last;
// nil if there is none.
func (t *timeline) covering(p varve.Position) *run {
	return t.latest(p, func(r *run) bool { return r.covers(p) })
}

// within reports whether a position lies in an episode that begins before it.
func (t *timeline) within(p varve.Position) bool {
	return t.latest(p, func(r *run) bool { return r.covers(p) && r.start != p }) != nil
}

// upTo returns the episode that begins before a position and goes on to it,
// whether it ends there or not: the one that begins last; nil if there is none.
func (t *timeline) upTo(p varve.Position) *run {
	return t.latest(p, func(r *run) bool { return r.start != p && (r.end == nil || r.end.Compare(p) >= 0) })
}

// latest returns the last of the episodes that begin at a position or before and
// meet a condition; nil if none does. Those that end before it are not asked for.
func (t *timeline) latest(p varve.Position, meets func(*run) bool) *run {
	for i := t.from(p) + 1; i > 0; i-- {
		if i > len(t.runs) || t.runs[i-1].start.Compare(p) > 0 {
			continue
		}
		if end := t.last[i-1]; end != nil && end.Compare(p) < 0 {
			return nil
		}
		if meets(&t.runs[i-1]) {
			return &t.runs[i-1]
		}
	}
	return nil
}

// sharing returns the episodes that share time with one of another start.
func (t *timeline) sharing(r *run) (all []*run) {
	i := t.from(r.start)
	for j := i; j > 0; j-- {
		if end := t.last[j-1]; end != nil && end.Compare(r.start) <= 0 {
			break
		}
		if t.runs[j-1].covers(r.start) {
			all = append(all, &t.runs[j-1])
		}
	}
	for ; i < len(t.runs) && r.covers(t.runs[i].start); i++ {
		if t.runs[i].start != r.start {
			all = append(all, &t.runs[i])
		}
	}
	return all
}
