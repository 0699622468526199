package changes

import (
	"slices"
	"strings"
)

// recentDevices lists devices in the order of their last touch, the latest first.
type recentDevices struct{ first *trackedDevice }

// touch moves a device to the front. The argument "seen" is the last arrival of the stream, so it never
// decreases.
func (l *recentDevices) touch(d *trackedDevice, seen int64) {
	if d.seen = seen; l.first == d {
		return
	}
	l.remove(d)
	if d.next = l.first; d.next != nil {
		d.next.prev = d
	}
	l.first = d
}

// remove removes a device. It does nothing if the device is not in the list.
func (l *recentDevices) remove(d *trackedDevice) {
	if d.prev != nil {
		d.prev.next = d.next
	}
	if d.next != nil {
		d.next.prev = d.prev
	}
	if l.first == d {
		l.first = d.next
	}
	d.prev, d.next = nil, nil
}

// changedSince returns the devices with an arrival at the start of the range [from, to) or later. It returns
// false if memory may lack some of these devices or their hours. This is so if the range spans several
// minutes, unless nothing arrived since its start. Then the caller reads the markers in the store.
//
// No other process may write to the store.
func (t *Tracker) changedSince(s Stream, from, to int64) (list []changed, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	st, minute := t.streams[s], minuteOf(from)
	if st == nil || from < t.own || from >= to {
		return nil, false
	}
	if st.last != 0 && st.last < from {
		return nil, true
	}
	if minute != minuteOf(to-1) || st.forgot >= minute {
		return nil, false
	}
	for d := st.recent.first; d != nil && d.seen >= from; d = d.next {
		if d.last < from {
			continue
		}
		if d.minute != minute {
			return nil, false
		}
		list = append(list, changed{name: d.name, hours: joinHours(slices.Clone(d.spans))})
	}
	slices.SortFunc(list, func(a, b changed) int { return strings.Compare(a.name, b.name) })
	return list, true
}

// joinHours sorts ranges and joins neighbors that overlap or touch.
func joinHours(spans []hours) (joined []hours) {
	slices.SortFunc(spans, func(a, b hours) int { return int(a.from - b.from) })
	for _, h := range spans {
		if n := len(joined); n > 0 && joined[n-1].from+joined[n-1].n >= h.from {
			last := &joined[n-1]
			last.n = max(last.n, h.from+h.n-last.from)
			continue
		}
		joined = append(joined, h)
	}
	return joined
}
