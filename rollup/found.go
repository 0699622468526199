package rollup

import (
	"cmp"
	"slices"

	"github.com/varvedb/varve"
)

// found is the readings of a slot that count now.
type found struct{ list []one }

type one struct {
	arrived int64 // unix nanoseconds
	digest  uint64
	unclear bool // it may be a copy of a reading that was counted before
}

func (f *found) add(r *varve.Reading, digest uint64) {
	f.list = append(f.list, one{arrived: r.Arrived.UnixNano(), digest: digest})
}

// doubt says of all of them that they are unclear.
func (f *found) doubt() {
	if f == nil {
		return
	}
	for i := range f.list {
		f.list[i].unclear = true
	}
}

// state is how a slot's partial stands to what counts now.
type state uint8

const (
	same   state = iota // it is of the same readings
	behind              // of those that arrived first
	unsure              // the same; but the others may be copies of what it has
	other               // of others
)

// against compares what counts now with a partial; nil: there is none. Whoever
// counts a slot counts all of it that is there, so what a partial is of arrived
// before what it lacks.
func (a *aggregate) against(p *Partial) state {
	none := p == nil
	list := a.total.found.list
	if none {
		p = &Partial{}
	} else if p.Readings < 0 || p.Readings > int64(len(list)) {
		return other
	}
	slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(a.arrived, b.arrived) })
	digest := uint64(0)
	for _, o := range list[:p.Readings] {
		digest += o.digest
	}
	rest := list[p.Readings:]
	switch {
	case digest != p.digest:
		return other
	case len(rest) == 0 && none && a.unclear > 0, slices.ContainsFunc(rest, func(o one) bool { return o.unclear }):
		return unsure
	case len(rest) == 0:
		return same
	}
	return behind
}

// compare returns the slots that are behind the readings, and those that may be,
// where this cannot be told. Dirty ones are counted anyway.
func compare(now map[slot]*aggregate, partials rest, dirty map[slot]bool) (list, left []slot) {
	states, lost := map[slot]state{}, map[int64]int64{}
	for at, p := range partials {
		a := now[at]
		if a == nil {
			a = &aggregate{total: &tally{found: &found{}}}
		}
		if states[at] = a.against(p); states[at] == other {
			lost[at.hour] = max(lost[at.hour], at.arrival)
		}
	}
	for at, a := range now {
		s, ok := states[at]
		if !ok {
			s = a.against(nil)
		}
		_, gone := lost[at.hour]
		switch {
		case dirty[at] || s == same || len(a.total.found.list)+a.unclear == 0:
		case s == behind && (!gone || lost[at.hour] < at.arrival):
			list = append(list, at)
		default:
			left = append(left, at)
		}
	}
	return list, left
}
