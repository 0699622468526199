package rollup

import (
	"slices"

	"github.com/varvedb/varve"
)

// found is the readings of a slot that count now.
type found struct{ list []one }

type one struct {
	arrived int64 // unix nanoseconds
	digest  uint64
	earlier bool // a copy of it had come before, and had expired
}

func (f *found) add(r *varve.Reading, earlier bool) {
	f.list = append(f.list, one{r.Arrived.UnixNano(), digestOf(r.Position()), earlier})
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
func (f *found) against(p *Partial) state {
	if p == nil {
		p = &Partial{}
	} else if p.Readings > int64(len(f.list)) {
		return other
	}
	slices.SortStableFunc(f.list, func(a, b one) int { return int(min(max(a.arrived-b.arrived, -1), 1)) })
	digest := uint64(0)
	for _, o := range f.list[:p.Readings] {
		digest += o.digest
	}
	rest := f.list[p.Readings:]
	switch {
	case digest != p.digest:
		return other
	case len(rest) == 0:
		return same
	case p.again || p.Readings > 0:
		if slices.ContainsFunc(rest, func(o one) bool { return o.earlier }) {
			return unsure
		}
	}
	return behind
}

// compare returns which slots are behind what counts now, and how many may be, of
// which that cannot be told. Dirty ones are counted anyway.
func compare(now map[slot]*found, there rest, dirty map[slot]bool) (list []slot, left int) {
	states, lost := map[slot]state{}, map[int64]bool{}
	for at, p := range there {
		f := now[at]
		if f == nil {
			f = &found{}
		}
		if states[at] = f.against(p); states[at] == other {
			lost[at.hour] = true
		}
	}
	for at, f := range now {
		s, ok := states[at]
		if !ok {
			s = f.against(nil)
		}
		switch {
		case dirty[at] || s == same || len(f.list) == 0:
		case s == behind && !lost[at.hour]:
			list = append(list, at)
		default:
			left++
		}
	}
	return list, left
}
