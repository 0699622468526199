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

// maxKnownMarkers is the number of remembered markers above which a tracker removes expired ones.
const maxKnownMarkers = 1 << 18

// Tracker puts dirty markers before readings are written, and remembers them. It is safe for
// concurrent use.
type Tracker struct {
	items store.Items
	now   func() time.Time

	mu      sync.RWMutex
	streams map[streamKey]map[string][]knownMarker // stored markers, by device
	size    int                                    // number of markers in streams
}

type streamKey struct{ tenant, stream string }

// knownMarker is a marker that the tracker has stored.
type knownMarker struct {
	dirtyMarker
	late bool // whether the hour was not the current hour when the marker was put
}

// NewTracker returns a tracker that puts markers into items.
func NewTracker(items store.Items, now func() time.Time) *Tracker {
	return &Tracker{items: items, now: now, streams: map[streamKey]map[string][]knownMarker{}}
}

// MarkDirty makes sure that durable markers cover the hours of all readings without a verdict.
// All readings have the same arrival. MarkDirty returns the time until which the readings may be
// written; roll-ups may miss readings that are written later. If MarkDirty fails, no reading may
// be written.
func (t *Tracker) MarkDirty(ctx context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) (time.Time, error) {
	now := t.now()
	q := markRequest{
		now: now.Unix(), valid: now.Add(validityMargin).Unix(), until: math.MaxInt64,
		first: dayOf(arrived.Unix()), last: dayOf(now.Add(dayOverlap).Unix()),
	}
	// The markers are for all arrival days from the arrival to now. A copy of a reading may have arrived
	// on a later day than q.first. After this write, that copy no longer counts on its day.
	q.last = max(q.first, q.last)
	t.findUnmarked(&q, readings, verdicts)
	if len(q.unmarked) > 0 {
		if err := t.items.PutAll(ctx, t.chooseMarkers(&q, readings)); err != nil {
			return time.Time{}, fmt.Errorf("put dirty markers: %w", err)
		}
		t.rememberMarkers(&q)
	}
	if q.until == math.MaxInt64 { // no reading is going to be written
		return now.Add(validityMargin), nil
	}
	return time.Unix(q.until, 0).Add(-writeMargin), nil
}

// markRequest is the state of one call of MarkDirty.
type markRequest struct {
	now, valid  int64 // in unix seconds; a write relies only on markers that end after "valid"
	first, last int64 // first and last arrival day for which the readings need markers, counted from 1970
	until       int64 // earliest end of the markers on which the write relies, in Unix seconds
	// unmarked has the indexes of the readings whose hours have no valid marker. Of consecutive readings with one
	// series and hour, it has only the first.
	unmarked []int
	chosen   map[varve.Series][]knownMarker // new markers
}

// findUnmarked finds the readings whose hours have no valid marker. It examines each reading of
// each write, so it must be fast. It does little for consecutive readings of one series or stream.
func (t *Tracker) findUnmarked(q *markRequest, readings []varve.Reading, verdicts []varve.Verdict) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var last *varve.Reading
	var hour int64
	var devices map[string][]knownMarker
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
			devices = t.streams[streamKey{r.Tenant, r.Stream}]
		}
		last, hour = r, h
		if until := q.coveredUntil(devices[r.Device], h); until > 0 {
			q.until = min(q.until, until)
		} else {
			q.unmarked = append(q.unmarked, i)
		}
	}
}

// coveredUntil returns the time until which valid markers cover an hour for all arrival days. It
// returns 0 if an arrival day has no valid marker.
func (q *markRequest) coveredUntil(markers []knownMarker, hour int64) int64 {
	earliest := int64(math.MaxInt64)
	for day := q.first; day <= q.last; day++ {
		until := int64(0)
		for i := range markers {
			if k := &markers[i]; k.arrival == day && k.until > q.valid && k.covers(hour) {
				until = max(until, k.until)
			}
		}
		earliest = min(earliest, until)
	}
	return earliest
}

func (t *Tracker) chooseMarkers(q *markRequest, readings []varve.Reading) (items []store.Item) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	q.chosen = map[varve.Series][]knownMarker{}
	for _, i := range q.unmarked {
		r := &readings[i]
		hour := hourOf(r.Time.Unix())
		if q.coveredUntil(q.chosen[r.Series], hour) > 0 {
			continue // covered by a marker for an earlier reading of this call
		}
		stored := t.streams[streamKey{r.Tenant, r.Stream}][r.Device]
		for day := q.first; day <= q.last; day++ {
			k := q.newMarker(hour, day, stored, q.chosen[r.Series])
			q.until = min(q.until, k.until)
			q.chosen[r.Series] = append(q.chosen[r.Series], k)
			items = append(items, k.item(r.Series))
		}
	}
	return items
}

// newMarker returns a marker for an hour. If the hour is not current, the new marker may cover the
// whole day. It does so if the device already has a valid marker for another hour of the same day
// and arrival day, which was not current either. So an upload of many days needs few markers.
func (q *markRequest) newMarker(hour, arrival int64, stored, chosen []knownMarker) knownMarker {
	begin := hour * hourSeconds
	if end := begin + hourSeconds; end > q.now && begin <= q.now+int64(dayOverlap/time.Second) {
		return knownMarker{dirtyMarker: dirtyMarker{from: hour, hours: 1, arrival: arrival, until: end + int64(markerRounding/time.Second)}}
	}
	k := knownMarker{dirtyMarker: dirtyMarker{from: hour, hours: 1, arrival: arrival, until: lateMarkerEnd(q.now)}, late: true}
	for _, markers := range [][]knownMarker{stored, chosen} {
		for _, o := range markers {
			if o.late && o.arrival == arrival && o.day() == k.day() && o.until > q.valid {
				k.from, k.hours = k.day()*dayHours, dayHours
			}
		}
	}
	return k
}

func (t *Tracker) rememberMarkers(q *markRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size > maxKnownMarkers {
		t.forgetExpired(q.valid)
	}
	for s, markers := range q.chosen {
		k := streamKey{s.Tenant, s.Stream}
		devices := t.streams[k]
		if devices == nil {
			devices = map[string][]knownMarker{}
			t.streams[streamKey{strings.Clone(s.Tenant), strings.Clone(s.Stream)}] = devices
		}
		var list []knownMarker
		for _, o := range devices[s.Device] {
			if o.until > q.valid {
				list = append(list, o)
			}
		}
		t.size += len(list) + len(markers) - len(devices[s.Device])
		devices[strings.Clone(s.Device)] = append(list, markers...)
	}
}

// forgetExpired removes from memory the devices whose markers are no longer valid. If many markers
// remain, it removes all, because putting a marker twice is harmless.
func (t *Tracker) forgetExpired(valid int64) {
	t.size = 0
	for k, devices := range t.streams {
		for device, markers := range devices {
			left := 0
			for _, o := range markers {
				if o.until > valid {
					left++
				}
			}
			if left == 0 {
				delete(devices, device)
				continue
			}
			t.size += len(markers)
		}
		if len(devices) == 0 {
			delete(t.streams, k)
		}
	}
	if t.size > maxKnownMarkers/2 {
		clear(t.streams)
		t.size = 0
	}
}
