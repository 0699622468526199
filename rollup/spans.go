package rollup

import (
	"maps"
	"slices"
)

// spans returns the hours of slots as runs, in their order.
func spans[V any](slots map[slot]V) (list []span) {
	hours := map[int64]bool{}
	for s := range slots {
		hours[s.hour] = true
	}
	for _, h := range slices.Sorted(maps.Keys(hours)) {
		if n := len(list); n > 0 && list[n-1].to == h {
			list[n-1].to++
			continue
		}
		list = append(list, span{h, h + 1})
	}
	return list
}

// slotsOf returns what marks say is dirty, within a span.
func slotsOf(marks []mark, within span) map[slot]bool {
	dirty := map[slot]bool{}
	for _, m := range marks {
		for h := max(m.from, within.from); h < min(m.from+m.hours, within.to); h++ {
			dirty[slot{h, m.arrival}] = true
		}
	}
	return dirty
}
