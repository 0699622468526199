package changes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	// batchMarkers is the number of markers after which a batch ends.
	batchMarkers = 16_384
	// batchMinutes is the maximum number of minutes with changes in a batch.
	batchMinutes = 1024
)

// batch has the changed devices of a range of arrivals, in the order of their names.
type batch struct {
	from, to int64 // arrivals from <= arrival < to, in milliseconds since 1970
	devices  []changed
	more     bool // the range has further devices after the last one
}

// changed is a device whose readings arrived in a batch, and the event hours of these readings.
type changed struct {
	name  string
	hours []hours // ranges of event hours, in order and without overlaps
}

// readBatch reads the markers of the next batch, from the memory of the tracker if it has them. If the cursor
// is in the middle of a batch, it reads the batch with the range of the cursor.
func (r *Rows) readBatch(ctx context.Context) (*batch, error) {
	b := &batch{from: r.at.Since.UnixMilli(), to: r.end}
	if !r.at.Until.IsZero() {
		b.to = r.at.Until.UnixMilli()
		return b, r.continueBatch(ctx, b)
	}
	if r.r.o.Alone {
		if list, ok := r.r.o.Tracker.changedSince(r.q.Stream, b.from, b.to); ok {
			b.devices = list
			if r.q.Device != "" {
				b.devices = slices.DeleteFunc(list, func(d changed) bool { return d.name != r.q.Device })
			}
			return b, nil
		}
	}
	minutes, more, err := r.minutes(ctx, b)
	if err != nil {
		return nil, err
	}
	if len(minutes) == 0 {
		b.from = b.to
		return b, nil
	}
	last := minutes[len(minutes)-1]
	if more {
		b.to = (last + 1) * minuteMillis
	}
	b.from = max(b.from, minutes[0]*minuteMillis)
	markers, cut, err := r.markers(ctx, minutes[0], last, "", false)
	if err != nil {
		return nil, err
	}
	if cut {
		if last = markers[len(markers)-1].minute; last == minutes[0] {
			b.to, b.more = min(b.to, (last+1)*minuteMillis), true
		} else {
			b.to = last * minuteMillis
			markers = slices.DeleteFunc(markers, func(m marker) bool { return m.minute == last })
		}
	}
	b.addMarkers(markers)
	return b, nil
}

// continueBatch reads the markers of a batch from the device of the cursor on. It omits that device if all
// of the device's readings were returned.
//
// The last minute may not have ended when the batch was first read, and may have any number of markers by
// now. So only its first markers are read. If more follow, the batch omits the devices after the last one
// that was read, also for earlier minutes.
func (r *Rows) continueBatch(ctx context.Context, b *batch) error {
	first, last := minuteOf(b.from), minuteOf(b.to-1)
	from := deviceKey(last, r.at.Device)
	if r.at.Part {
		from = minuteText(last) + separator + r.at.Device + separator
	}
	markers, more, err := r.markers(ctx, max(first, last), last, from, false)
	if err != nil {
		return err
	}
	if b.more = more; first < last {
		earlier, _, err := r.markers(ctx, first, last-1, "", true)
		if err != nil {
			return err
		}
		if more {
			end := markers[len(markers)-1].device
			earlier = slices.DeleteFunc(earlier, func(m marker) bool { return m.device > end })
		}
		markers = append(earlier, markers...)
	}
	b.addMarkers(slices.DeleteFunc(markers, func(m marker) bool {
		return m.device < r.at.Device || m.device == r.at.Device && !r.at.Part
	}))
	return nil
}

// addMarkers adds the devices and the event hours of markers.
func (b *batch) addMarkers(markers []marker) {
	slices.SortFunc(markers, func(x, y marker) int { return cmp.Compare(x.device, y.device) })
	for i := range markers {
		m := &markers[i]
		if n := len(b.devices); n == 0 || b.devices[n-1].name != m.device {
			b.devices = append(b.devices, changed{name: m.device})
		}
		d := &b.devices[len(b.devices)-1]
		d.hours = append(d.hours, m.hours)
	}
	for i := range b.devices {
		b.devices[i].hours = joinHours(b.devices[i].hours)
	}
}

// minutes returns the minutes of a batch that have markers, and whether more may follow.
func (r *Rows) minutes(ctx context.Context, b *batch) (list []int64, more bool, err error) {
	if b.from >= b.to {
		return nil, false, nil
	}
	s := r.q.Stream
	q := store.ItemQuery{
		PK: s.partition(), From: s.minuteKey(minuteOf(b.from)).SK, To: s.minuteKey(minuteOf(b.to-1) + 1).SK, Limit: batchMinutes, Consistent: true,
	}
	for it, err := range registry.All(ctx, r.r.o.Items, q) {
		if err != nil {
			return nil, false, fmt.Errorf("list the changes of stream %s: %w", s.Name, err)
		}
		if len(list) == batchMinutes {
			return list, true, nil
		}
		var minute int64
		if _, err := fmt.Sscanf(it.SK, minutePrefix+"%d", &minute); err != nil {
			return nil, false, fmt.Errorf("item %s %q: %w", it.PK, it.SK, err)
		}
		list = append(list, minute)
	}
	return list, false, nil
}

// markers returns the markers of a range of minutes, in the order of minutes and devices. The first
// marker is at the given sort key, or after it. The result "more" reports whether others follow. For a
// device and a minute, markers returns all markers or none.
//
// If "all" is set, the minutes of the range must be settled, and markers returns all their markers. It then
// fails if the range has more than twice batchMarkers. No answer had a cursor with such a range, so a client
// has forged the cursor.
func (r *Rows) markers(ctx context.Context, first, last int64, from string, all bool) (list []marker, more bool, err error) {
	s := r.q.Stream
	span := registry.Span{PKs: s.shards(), From: max(minuteText(first), from), To: minuteText(last + 1), Limit: batchMarkers, Consistent: true}
	if r.q.Device != "" {
		span.PKs = []string{s.shardOf(r.q.Device)}
		middle := separator + r.q.Device + separator
		span.Match = func(it *store.Item) bool { return strings.HasPrefix(it.SK[minuteDigits:], middle) }
	}
	for {
		items, more, err := registry.Merge(ctx, r.r.o.Items, span)
		if err != nil {
			return nil, false, fmt.Errorf("list the change markers of stream %s: %w", s.Name, err)
		}
		list = list[:0]
		for i := range items {
			m, err := parseMarker(items[i].Key)
			if err != nil {
				return nil, false, err
			}
			list = append(list, m)
		}
		if !more {
			return list, false, nil
		}
		end := list[len(list)-1]
		cut := slices.IndexFunc(list, func(m marker) bool { return m.minute == end.minute && m.device == end.device })
		if cut > 0 && !all {
			return list[:cut], true, nil
		}
		if all && span.Limit > batchMarkers {
			return nil, false, badCursor()
		}
		span.Limit *= 2
	}
}
