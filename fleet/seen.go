package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// When a device was last seen is an item of its own, from its second minute on:
// it changes every minute, and must neither touch the indexes nor collide with a
// change by hand. When it was last seen in a stream is another, while a deadman
// rule names the stream.
const (
	seenSK   = "#SEEN"
	attrSeen = "lastSeenAt"
)

// seenIn is the sort key of when a device was last seen in a stream; in any, if
// it has no name.
func seenIn(stream string) string {
	if stream == "" {
		return seenSK
	}
	return seenSK + "#" + stream
}

func seenKey(tenant, device, stream string) store.Key {
	return store.Key{PK: devicePK(tenant, device), SK: seenIn(stream)}
}

// owner names a device.
type owner struct{ tenant, device string }

// sighting names what was seen: a device, in any stream or in one.
type sighting struct {
	owner
	stream string
}

func (s *sighting) key() store.Key { return seenKey(s.tenant, s.device, s.stream) }

// listened is the streams that deadman rules of a tenant name, and the devices
// of these that they are about; "" is all devices.
type listened map[string]map[string]struct{}

func (l listened) add(r *Rule) {
	if r.Kind != Deadman || r.Stream == "" {
		return
	}
	if l[r.Stream] == nil {
		l[r.Stream] = map[string]struct{}{}
	}
	l[r.Stream][r.Device] = struct{}{}
}

func (l listened) has(s *varve.Series) bool {
	devices := l[s.Stream]
	if len(devices) == 0 {
		return false
	}
	if _, all := devices[""]; all {
		return true
	}
	_, one := devices[s.Device]
	return one
}

// seen is the devices that sent something in this minute. The first reading of
// a minute counts: the others cost a look into a map.
type seen struct {
	mu         sync.RWMutex
	minute     int64                  // since 1970
	marked     map[string]marks       // by tenant; what is marked is registered
	pending    map[sighting]time.Time // to be written
	registered registered             // what has an item
	wake       chan struct{}
}

// marks is what of a tenant was seen in this minute.
type marks struct {
	devices map[string]struct{}
	series  map[sighting]struct{} // those that are listened to
}

func newSeen() seen {
	return seen{marked: map[string]marks{}, pending: map[sighting]time.Time{}, registered: registered{}, wake: make(chan struct{}, 1)}
}

// fresh returns what readings of one tenant show for the first time in this
// minute, perhaps several times over, in the memory of the readings.
func (s *seen) fresh(now time.Time, tenant string, in listened, readings []varve.Reading, verdicts []varve.Verdict) (fresh []sighting) {
	minute := now.Unix() / 60
	var last varve.Series
	s.mu.RLock()
	defer s.mu.RUnlock()
	turned := s.turned(minute)
	was := s.marked[tenant]
	for i := range readings {
		r := &readings[i]
		if !isStored(&verdicts[i]) || r.Device == last.Device && (len(in) == 0 || r.Stream == last.Stream) {
			continue
		}
		last = r.Series
		one := sighting{owner: owner{tenant, r.Device}}
		if _, ok := was.devices[r.Device]; turned || !ok {
			fresh = append(fresh, one)
		}
		if len(in) == 0 || !in.has(&r.Series) {
			continue
		}
		one.stream = r.Stream
		if _, ok := was.series[one]; turned || !ok {
			fresh = append(fresh, one)
		}
	}
	return fresh
}

// turned reports whether a minute is another than the one that is marked. A
// request that took the time in the minute before may come late; a clock that was
// set back further starts over. The lock is held.
func (s *seen) turned(minute int64) bool { return minute > s.minute || minute < s.minute-1 }

// mark records that something was seen. What is recorded in the registry with
// this very time need not be written.
func (s *seen) mark(now time.Time, sightings map[sighting]recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if minute := now.Unix() / 60; s.turned(minute) {
		s.minute = minute
		clear(s.marked)
	}
	for o, written := range sightings {
		of := s.marked[o.tenant]
		_, device := of.devices[o.device]
		_, series := of.series[o]
		if device && o.stream == "" || series {
			continue
		}
		if of.devices == nil {
			of = marks{map[string]struct{}{}, map[sighting]struct{}{}}
			s.marked[o.tenant] = of
		}
		if o.stream == "" {
			of.devices[o.device] = struct{}{}
		} else {
			of.series[o] = struct{}{}
		}
		if s.registered.add(o); !written {
			s.pending[o] = now
		}
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// forget makes the next reading of a device, or the next one in a stream, count as
// its first.
func (s *seen) forget(o sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registered.remove(o)
	of := s.marked[o.tenant]
	if delete(of.series, o); o.stream == "" {
		delete(of.devices, o.device)
	}
}

func (s *seen) take() map[sighting]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.pending
	s.pending = map[sighting]time.Time{}
	return taken
}

// giveBack takes back what could not be written, unless there is something newer.
func (s *seen) giveBack(o sighting, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, newer := s.pending[o]; !newer {
		s.pending[o] = at
	}
}

const (
	// seenWriters is how many devices are written at a time: so many that they
	// share a disk's syncs, and no more, because readings need the store, too.
	seenWriters = 16
	// seenAgain is after how long what could not be written is tried again: well
	// within the minute by which deadman rules wait longer than they say.
	seenAgain = 10 * time.Second
)

// writeSeen writes what was noted until the fleet is closed, and then what is
// left.
func (f *Fleet) writeSeen() {
	defer close(f.stopped)
	again := time.NewTimer(seenAgain)
	defer again.Stop()
	for {
		select {
		case <-f.seen.wake:
		case <-again.C:
		case <-f.stop:
			f.flushSeen()
			return
		}
		again.Stop()
		if !f.flushSeen() {
			again.Reset(seenAgain)
		}
	}
}

// flushSeen writes when devices were seen, and reports whether all could be
// written. What could not is kept.
func (f *Fleet) flushSeen() bool {
	var g errgroup.Group
	g.SetLimit(seenWriters)
	for o, at := range f.seen.take() {
		g.Go(func() error {
			err := f.saw(context.Background(), o, at)
			if err != nil {
				f.opts.Events.Failed("last seen", fmt.Errorf("note that device %s was seen: %w", o.device, err))
				f.seen.giveBack(o, at)
			}
			return err
		})
	}
	return g.Wait() == nil // what fails has been told
}

// saw writes that a device was seen: one write. A device that is not registered
// is registered by that.
func (f *Fleet) saw(ctx context.Context, o sighting, at time.Time) error {
	it := o.seenItem(at)
	err := f.opts.Items.Put(ctx, it, store.IfLess(attrSeen, timeValue(at)))
	if !errors.Is(err, store.ErrCondition) {
		return err
	}
	if o.stream != "" {
		err = f.opts.Items.Put(ctx, it, store.IfAbsent())
	} else {
		err = f.sawFirst(ctx, o.owner, it, at)
	}
	if errors.Is(err, store.ErrCondition) {
		return nil // another process did the same
	}
	return err
}

// sawFirst writes that a device was seen of which no earlier time is noted.
func (f *Fleet) sawFirst(ctx context.Context, o owner, it store.Item, at time.Time) error {
	metadata := metadataKey(o.tenant, o.device)
	items, err := f.opts.Items.Get(ctx, []store.Key{it.Key, metadata}, true)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(items, func(it store.Item) bool { return it.SK == metadataSK }) {
		return f.register(ctx, sighting{owner: o}, at)
	}
	if len(items) > 1 || items[0].Attrs[attrSeen].Text() >= timeText(at) {
		return nil
	}
	if err := f.opts.Items.Put(ctx, it, store.IfAbsent()); err != nil {
		return err
	}
	// If the device was deleted meanwhile, this item would be taken for a witness
	// that it is there.
	items, err = f.opts.Items.Get(ctx, []store.Key{metadata}, true)
	if err != nil || len(items) > 0 {
		return err
	}
	return f.register(ctx, sighting{owner: o}, at)
}
