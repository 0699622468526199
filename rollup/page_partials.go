package rollup

import "slices"

// pagePartials collects the partials of a page, and records which of them are replaced.
type pagePartials struct {
	list []pagePartial
	// replaced maps hours to the last arrival day whose partial replaces earlier partials of the hour;
	// see Partial.replaces.
	replaced map[int64]int64
}

type pagePartial struct {
	at     slot
	period int64
	p      *Partial
}

// add appends a partial, and records whether it replaces earlier partials of its hour.
func (h *pagePartials) add(at slot, period int64, p *Partial) {
	h.list = append(h.list, pagePartial{at, period, p})
	if !p.replaces {
		return
	}
	if h.replaced == nil {
		h.replaced = map[int64]int64{}
	}
	if day, ok := h.replaced[at.hour]; !ok || day < at.arrival {
		h.replaced[at.hour] = at.arrival
	}
}

// removeFrom removes the partials of an hour and of later ones.
func (h *pagePartials) removeFrom(hour int64) {
	h.list = slices.DeleteFunc(h.list, func(o pagePartial) bool { return o.at.hour >= hour })
}

// isReplaced reports whether the partial of a later arrival day replaces the partial of a slot.
func (h *pagePartials) isReplaced(at slot) bool {
	day, ok := h.replaced[at.hour]
	return ok && at.arrival < day
}
