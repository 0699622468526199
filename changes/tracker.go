package changes

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

const (
	// maxKnownDevices is the number of remembered devices above which a tracker forgets old ones.
	maxKnownDevices = 1 << 18
	// maxSpans is the maximum number of markers that one write puts for a series. Beyond it, markers
	// cover the hours between the readings, too.
	maxSpans = 16
	// fewSpans is the number of markers of a series in one minute after which further markers cover whole
	// weeks, except near the arrival.
	fewSpans = 4
	// liveHours is the number of hours before and after the arrival whose markers cover one hour.
	// Markers of other hours cover whole days or weeks, so an upload of many days needs few of
	// them.
	liveHours = 1
	weekHours = 7 * dayHours
	// extraLife is how much longer a marker lives than the readings that arrived with it.
	extraLife = 24 * time.Hour
)

// Options configure a tracker. All fields except Shared are required.
type Options struct {
	Items store.Items
	// Indexed reports whether the changes of a stream are recorded.
	Indexed func(stream string) bool
	// Retention returns the retention of the readings of a stream.
	Retention func(stream string) time.Duration
	// Admit checks that a write with an arrival may begin; see [Horizon.Admit] and [Cluster.Admit].
	Admit func(ctx context.Context, arrived time.Time) (by time.Time, err error)
	// Shared means that other processes write to the store, too.
	Shared bool
}

// Tracker puts change markers before readings are written, and remembers them. It is safe for
// concurrent use.
type Tracker struct {
	o Options

	mu      sync.Mutex
	streams map[Stream]*trackedStream
	size    int   // number of devices in streams
	last    int64 // the last minute with a marker, counted from 1970; durable unless Options.Shared is set
	own     int64 // since this arrival, in milliseconds since 1970, only this process has put markers
}

// trackedStream is the memory of a tracker about a stream.
type trackedStream struct {
	minute  int64 // the last minute, counted from 1970, for which the registry has an item (minuteKey) of this stream
	last    int64 // the last arrival, in milliseconds since 1970
	devices map[string]*trackedDevice
	recent  recentDevices
	// forgot is the minute of the stream's last arrival when a device was last forgotten. Memory is complete
	// for later minutes.
	forgot int64
}

// trackedDevice is the memory of a tracker about a series.
type trackedDevice struct {
	minute int64   // the last minute, counted from 1970, with markers of the device
	spans  []hours // event hours that these markers cover
	last   int64   // the last arrival, in milliseconds since 1970

	name       string
	seen       int64 // the last arrival of the stream when the device was touched
	prev, next *trackedDevice
}

// NewTracker returns a tracker that remembers no markers.
func NewTracker(o Options) *Tracker { return &Tracker{o: o, streams: map[Stream]*trackedStream{}} }

// Open reads the latest minute in which an earlier process stored a marker. The clock of that process
// may have been ahead.
func (t *Tracker) Open(ctx context.Context) error {
	page, err := t.o.Items.Query(ctx, store.ItemQuery{
		PK: partition, From: lastPrefix, To: store.PrefixEnd(lastPrefix), Order: varve.Descending, Limit: 1, Consistent: true,
	})
	if err != nil || len(page.Items) == 0 {
		return err
	}
	last, err := strconv.ParseInt(strings.TrimPrefix(page.Items[0].SK, lastPrefix), 10, 64)
	if err != nil {
		return fmt.Errorf("item %s %s: %w", partition, page.Items[0].SK, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.own = last, (last+1)*minuteMillis
	return nil
}

// lastLife is the time after which the store deletes the record that a minute has markers.
const lastLife = 30 * 24 * time.Hour

// StreamCreated records that the index of a new stream is complete from its beginning. It must be
// called before the stream is registered.
func (t *Tracker) StreamCreated(ctx context.Context, tenant, stream string) error {
	if !t.o.Indexed(stream) {
		return nil
	}
	s := Stream{tenant, stream}
	ix := index{keep: t.o.Retention(stream)}
	if _, err := t.o.Items.PutAbsent(ctx, []store.Item{ix.item(s)}); err != nil {
		return fmt.Errorf("record the index by arrival of stream %s: %w", stream, err)
	}
	return nil
}

// MarkChanges makes sure that durable markers cover all readings that have no verdict and whose stream is
// indexed. A marker covers the minute of the arrival and some event hours of a series. All readings have
// the same arrival. MarkChanges returns the time until which the readings may be written; the zero time
// means no limit. If it fails, no reading may be written.
func (t *Tracker) MarkChanges(ctx context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) (by time.Time, err error) {
	if !t.o.Shared || t.hasIndexed(readings, verdicts) {
		if by, err = t.o.Admit(ctx, arrived); err != nil {
			return by, err
		}
	}
	q := markRequest{at: arrived.UnixMilli(), minute: minuteOf(arrived.UnixMilli())}
	for i := range readings {
		r := &readings[i]
		if s := (Stream{r.Tenant, r.Stream}); verdicts[i].Outcome == 0 && !q.knows(s) {
			if err := t.openStream(ctx, s, arrived); err != nil {
				return by, err
			}
			q.streams = append(q.streams, s)
		}
	}
	t.findUnmarked(&q, readings, verdicts)
	if len(q.unmarked) == 0 {
		return by, nil
	}
	if err := t.o.Items.PutAll(ctx, t.chooseMarkers(&q)); err != nil {
		return by, fmt.Errorf("put change markers: %w", err)
	}
	t.rememberMarkers(&q)
	return by, nil
}

// hasIndexed reports whether a reading without a verdict belongs to a stream whose changes are
// recorded.
func (t *Tracker) hasIndexed(readings []varve.Reading, verdicts []varve.Verdict) bool {
	stream := ""
	for i := range readings {
		if r := &readings[i]; verdicts[i].Outcome == 0 && r.Stream != stream {
			if stream = r.Stream; t.o.Indexed(stream) {
				return true
			}
		}
	}
	return false
}

type markRequest struct {
	at, minute int64 // arrival of the readings, in milliseconds since 1970, and its minute
	streams    []Stream
	unmarked   map[varve.Series][]int64 // event hours without a marker, not sorted
	chosen     map[varve.Series][]hours // event hours that the new markers cover
	minutes    []Stream                 // streams that have no item for the minute yet
}

func (q *markRequest) knows(s Stream) bool {
	return len(q.streams) > 0 && q.streams[len(q.streams)-1] == s || slices.Contains(q.streams, s)
}

// openStream records the index of a stream, or deletes the record if the index is off. It does so
// once in the life of the process.
func (t *Tracker) openStream(ctx context.Context, s Stream, arrived time.Time) error {
	if t.isOpen(s) {
		return nil
	}
	err := t.recordStream(ctx, s, arrived)
	if err != nil {
		return fmt.Errorf("record the index by arrival of stream %s: %w", s.Name, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.streams[s] == nil {
		s = Stream{strings.Clone(s.Tenant), strings.Clone(s.Name)}
		t.streams[s] = &trackedStream{minute: -1, forgot: -1, devices: map[string]*trackedDevice{}}
	}
	return nil
}

// recordStream records the index of a stream, or deletes its record if the index is off.
//
// If other processes write to the store, the index is complete only after all of them have the
// setting. So it begins after startDelay.
func (t *Tracker) recordStream(ctx context.Context, s Stream, from time.Time) error {
	if t.o.Indexed(s.Name) {
		if t.o.Shared {
			from = from.Add(startDelay)
		}
		return recordIndex(ctx, t.o.Items, s, from, t.o.Retention(s.Name))
	}
	if ix, err := readIndex(ctx, t.o.Items, s); err != nil || ix == nil {
		return err
	}
	return t.o.Items.Delete(ctx, s.indexKey())
}

// isOpen reports whether openStream has succeeded for a stream in this process.
func (t *Tracker) isOpen(s Stream) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.streams[s] != nil
}

// findUnmarked finds the hours of series that have no marker in the minute. It also records the arrival as
// the last one of each stream and of each remembered device, before the readings can be read.
func (t *Tracker) findUnmarked(q *markRequest, readings []varve.Reading, verdicts []varve.Verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var last *varve.Reading
	var hour int64
	for i := range readings {
		r := &readings[i]
		if verdicts[i].Outcome != 0 {
			continue
		}
		h := r.Time.Unix() / hourSeconds
		if last != nil && h == hour && r.Device == last.Device && r.Stream == last.Stream && r.Tenant == last.Tenant {
			continue
		}
		last, hour = r, h
		if t.o.Indexed(r.Stream) && !t.streams[Stream{r.Tenant, r.Stream}].isMarked(q, r.Device, h) {
			if q.unmarked == nil {
				q.unmarked = map[varve.Series][]int64{}
			}
			if list := q.unmarked[r.Series]; len(list) == 0 || list[len(list)-1] != h {
				q.unmarked[r.Series] = append(list, h)
			}
		}
	}
}

// isMarked reports whether a remembered marker covers an hour of a device. It also records the
// arrival as the last one of the stream and of the device.
func (s *trackedStream) isMarked(q *markRequest, device string, hour int64) bool {
	s.last = max(s.last, q.at)
	d := s.devices[device]
	if d == nil {
		return false
	}
	d.last = max(d.last, q.at)
	s.recent.touch(d, s.last)
	return d.minute == q.minute && slices.ContainsFunc(d.spans, func(h hours) bool { return h.covers(hour) })
}

// chooseMarkers chooses markers for the unmarked hours. It returns their items, and the items of minutes
// that have no marker yet.
func (t *Tracker) chooseMarkers(q *markRequest) (items []store.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q.chosen = make(map[varve.Series][]hours, len(q.unmarked))
	if q.minute > t.last && !t.o.Shared {
		items = append(items, store.Item{Key: lastKey(q.minute), Expires: time.UnixMilli(q.minute * minuteMillis).Add(lastLife)})
	}
	expires := map[Stream]time.Time{}
	for series, list := range q.unmarked {
		s := Stream{series.Tenant, series.Stream}
		until, ok := expires[s]
		if !ok {
			until = retention.Add(time.UnixMilli((q.minute+1)*minuteMillis), addLife(t.o.Retention(s.Name)))
			expires[s] = until
			if t.streams[s].minute != q.minute {
				q.minutes = append(q.minutes, s)
				items = append(items, store.Item{Key: s.minuteKey(q.minute), Expires: until})
			}
		}
		stored := 0
		if d := t.streams[s].devices[series.Device]; d != nil && d.minute == q.minute {
			stored = len(d.spans)
		}
		q.chosen[series] = spansOf(list, q.at/1000/hourSeconds, stored >= fewSpans)
		for _, h := range q.chosen[series] {
			items = append(items, store.Item{Key: marker{q.minute, series.Device, h}.key(s), Expires: until})
		}
	}
	return items
}

func addLife(d time.Duration) time.Duration {
	if d == retention.Forever || d > retention.Forever-extraLife {
		return retention.Forever
	}
	return d + extraLife
}

// rememberMarkers adds the chosen markers of a request to memory after they were stored.
func (t *Tracker) rememberMarkers(q *markRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size > maxKnownDevices {
		t.forgetDevices(q.minute)
	}
	t.last = max(t.last, q.minute)
	for _, s := range q.minutes {
		t.streams[s].minute = max(t.streams[s].minute, q.minute)
	}
	for series, spans := range q.chosen {
		st := t.streams[Stream{series.Tenant, series.Stream}]
		d := st.devices[series.Device]
		if d == nil {
			// The device is new, or was forgotten while this request was written. Its last arrival is then not
			// known, but it is at most the last arrival of the stream.
			d = &trackedDevice{minute: -1, last: st.last, name: strings.Clone(series.Device)}
			st.devices[d.name] = d
			t.size++
		}
		d.last = max(d.last, q.at)
		st.recent.touch(d, st.last)
		switch {
		case d.minute == q.minute:
			d.spans = append(d.spans, spans...)
		case d.minute < q.minute:
			d.minute, d.spans = q.minute, append(d.spans[:0], spans...)
		}
	}
}

// forgetDevices removes the devices without a marker in the given minute or later. If many remain,
// it removes all, because putting a marker twice is harmless.
func (t *Tracker) forgetDevices(minute int64) {
	t.size = 0
	for _, s := range t.streams {
		s.forgetBefore(minute)
		t.size += len(s.devices)
	}
	if t.size > maxKnownDevices/2 {
		for _, s := range t.streams {
			s.forgetBefore(math.MaxInt64)
		}
		t.size = 0
	}
}

// forgetBefore removes the devices without a marker in a minute or later.
func (s *trackedStream) forgetBefore(minute int64) {
	for name, d := range s.devices {
		if d.minute < minute {
			s.forgot = max(s.forgot, minuteOf(s.last))
			s.recent.remove(d)
			delete(s.devices, name)
		}
	}
}

// isUnchanged reports whether no reading of a device arrived at a time or later, in milliseconds since
// 1970. It returns false if this is unknown. No other process may write to the store.
func (t *Tracker) isUnchanged(s Stream, device string, since int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if st := t.streams[s]; st != nil && since >= t.own {
		d := st.devices[device]
		return d != nil && d.last < since
	}
	return false
}

// lastOfStream returns the last arrival of a stream in this process, in milliseconds since 1970. It
// returns 0 if nothing arrived.
func (t *Tracker) lastOfStream(s Stream) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if st := t.streams[s]; st != nil {
		return st.last
	}
	return 0
}
