package rollup

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

const (
	// reliance is how long before a mark's end writers stop relying on it, and
	// giveUp how long before it they give up what they are writing.
	reliance = 5 * time.Minute
	giveUp   = time.Minute
	// settled is how long after a mark's end, by its own clock, the worker takes
	// it: clocks may differ by ten minutes.
	settled = 15 * time.Minute
	// step is to what the ends of marks for late readings are rounded, so that
	// writers put the same ones.
	step = 30 * time.Minute
	// turn is how long before a day it may already be that day elsewhere.
	turn = 15 * time.Minute
)

// maxKnown is how many marks are remembered.
const maxKnown = 1 << 18

// Marker puts marks before readings are written, and remembers them. It is safe
// for concurrent use.
type Marker struct {
	items store.Items
	now   func() time.Time

	mu      sync.RWMutex
	streams map[streamKey]map[string][]known // marks that are there, by device
	size    int                              // marks in streams
}

type streamKey struct{ tenant, stream string }

// known is a mark that is there.
type known struct {
	mark
	late bool // it is not of the current hour
}

// NewMarker returns a marker that puts marks into items.
func NewMarker(items store.Items, now func() time.Time) *Marker {
	return &Marker{items: items, now: now, streams: map[streamKey]map[string][]known{}}
}

// Mark makes sure that there are marks for the readings without a verdict, which
// all arrived at one time, and returns until when they may be written: what is
// written later may be missing in roll-ups. The marks are durable then. If it
// fails, none of the readings may be written.
func (m *Marker) Mark(ctx context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) (time.Time, error) {
	now := m.now()
	w := marking{
		now: now.Unix(), valid: now.Add(reliance).Unix(), until: math.MaxInt64,
		first: dayOf(arrived.Unix()), last: dayOf(now.Add(turn).Unix()),
	}
	// Where a copy of a reading arrived on a later day, and lies in another
	// table, it no longer counts there once this one is written.
	w.last = max(w.first, w.last)
	m.look(&w, readings, verdicts)
	if len(w.missing) > 0 {
		if err := m.items.PutAll(ctx, m.choose(&w, readings)); err != nil {
			return time.Time{}, fmt.Errorf("mark what roll-ups have to count: %w", err)
		}
		m.remember(&w)
	}
	if w.until == math.MaxInt64 { // nothing is to be written
		return now.Add(reliance), nil
	}
	return time.Unix(w.until, 0).Add(-giveUp), nil
}

// marking is one call of Mark.
type marking struct {
	now, valid  int64 // unix seconds; a mark may be relied on if its end is after valid
	first, last int64 // days of arrival to mark
	until       int64 // the earliest end of the marks relied on
	missing     []int // readings whose hour has none, the first of each run
	chosen      map[varve.Series][]known
}

// look finds the readings for which there is no mark that can be relied on. It
// runs for every reading that comes in, so it is made for runs of one series or
// stream.
func (m *Marker) look(w *marking, readings []varve.Reading, verdicts []varve.Verdict) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var last *varve.Reading
	var hour int64
	var devices map[string][]known
	for i := range readings {
		r := &readings[i]
		if verdicts[i].Outcome != 0 {
			continue
		}
		h := hourOf(r.Time.Unix())
		if last != nil && h == hour && r.Device == last.Device && r.Stream == last.Stream && r.Tenant == last.Tenant {
			continue
		}
		if last == nil || r.Stream != last.Stream || r.Tenant != last.Tenant {
			devices = m.streams[streamKey{r.Tenant, r.Stream}]
		}
		last, hour = r, h
		if until := w.covered(devices[r.Device], h); until > 0 {
			w.until = min(w.until, until)
		} else {
			w.missing = append(w.missing, i)
		}
	}
}

// covered returns the earliest end of the marks that cover an hour on every day
// of arrival that is to be marked; 0 if there is a day without one.
func (w *marking) covered(marks []known, hour int64) int64 {
	earliest := int64(math.MaxInt64)
	for day := w.first; day <= w.last; day++ {
		until := int64(0)
		for i := range marks {
			if k := &marks[i]; k.arrival == day && k.until > w.valid && k.covers(hour) {
				until = max(until, k.until)
			}
		}
		earliest = min(earliest, until)
	}
	return earliest
}

// choose chooses a mark for each reading that has none, and returns them as
// items.
func (m *Marker) choose(w *marking, readings []varve.Reading) (items []store.Item) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	w.chosen = map[varve.Series][]known{}
	for _, i := range w.missing {
		r := &readings[i]
		hour := hourOf(r.Time.Unix())
		if w.covered(w.chosen[r.Series], hour) > 0 {
			continue // an earlier one of this call
		}
		there := m.streams[streamKey{r.Tenant, r.Stream}][r.Device]
		for day := w.first; day <= w.last; day++ {
			k := w.mark(hour, day, there, w.chosen[r.Series])
			w.until = min(w.until, k.until)
			w.chosen[r.Series] = append(w.chosen[r.Series], k)
			items = append(items, k.item(r.Series))
		}
	}
	return items
}

// mark returns the mark for an hour. The current hour's lasts for half an hour
// beyond it. Another's lasts for half an hour to an hour, and the second one of
// a day covers the day: so an upload of many days needs few.
func (w *marking) mark(hour, arrival int64, there, chosen []known) known {
	begin := hour * hourSeconds
	if end := begin + hourSeconds; end > w.now && begin <= w.now+int64(turn/time.Second) {
		return known{mark: mark{from: hour, hours: 1, arrival: arrival, until: end + int64(step/time.Second)}}
	}
	round := int64(step / time.Second)
	k := known{mark: mark{from: hour, hours: 1, arrival: arrival, until: w.now/round*round + 2*round}, late: true}
	for _, marks := range [][]known{there, chosen} {
		for _, o := range marks {
			if o.late && o.arrival == arrival && o.day() == k.day() && o.until > w.valid {
				k.from, k.hours = k.day()*dayHours, dayHours
			}
		}
	}
	return k
}

// remember remembers the marks that were put.
func (m *Marker) remember(w *marking) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size > maxKnown {
		m.forget(w.valid)
	}
	for s, marks := range w.chosen {
		k := streamKey{s.Tenant, s.Stream}
		devices := m.streams[k]
		if devices == nil {
			devices = map[string][]known{}
			m.streams[streamKey{strings.Clone(s.Tenant), strings.Clone(s.Stream)}] = devices
		}
		var list []known
		for _, o := range devices[s.Device] {
			if o.until > w.valid {
				list = append(list, o)
			}
		}
		m.size += len(list) + len(marks) - len(devices[s.Device])
		devices[strings.Clone(s.Device)] = append(list, marks...)
	}
}

// forget forgets the marks that cannot be relied on any more, or all of them if
// there are still many: putting one again does no harm.
func (m *Marker) forget(valid int64) {
	m.size = 0
	for k, devices := range m.streams {
		for device, marks := range devices {
			left := 0
			for _, o := range marks {
				if o.until > valid {
					left++
				}
			}
			if left == 0 {
				delete(devices, device)
				continue
			}
			m.size += len(marks)
		}
		if len(devices) == 0 {
			delete(m.streams, k)
		}
	}
	if m.size > maxKnown/2 {
		clear(m.streams)
		m.size = 0
	}
}
