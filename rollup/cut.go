package rollup

import "time"

const dayMillis = daySeconds * 1000

// cut excludes readings by their arrival. The zero cut excludes none.
//
// Partials of arrival days before the cut's day count as they are, except some partials with
// Partial.uncorrected set; see divides. A partial of the cut's day counts if its arrivals show that
// all its readings arrived before the cut. Otherwise its slot is recounted.
type cut struct {
	at  int64 // the first excluded arrival, in milliseconds since 1970
	day int64 // the arrival day of the arrival in the field "at"
}

func cutOf(asOf time.Time) cut {
	if asOf.IsZero() {
		return cut{}
	}
	at := asOf.UnixMilli() + 1
	return cut{at: at, day: at / dayMillis}
}

// excludes reports whether no reading of a slot can have arrived before the cut.
func (c cut) excludes(at slot) bool {
	return c.at > 0 && (at.arrival > c.day || at.arrival == c.day && c.at%dayMillis == 0)
}

// divides reports whether a partial of the cut's arrival day has, or may have, readings that the
// cut excludes. It also returns true for a partial with Partial.uncorrected set, if the cut is on its
// arrival day or on the next day. At the time of the cut, the partial may not have been stored yet,
// and its corrections may have counted.
func (c cut) divides(at slot, p *Partial) bool {
	if c.at == 0 || p == nil {
		return false
	}
	if p.uncorrected && (at.arrival == c.day || at.arrival == c.day-1) {
		return true
	}
	return at.arrival == c.day && p.identity().readings > 0 && (p.arrived == arrivals{} || p.arrived.last >= c.at)
}
