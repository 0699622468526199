package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// When a device was last seen is an item of its own, from its second minute on:
// it changes every minute, and must neither touch the indexes nor collide with a
// change by hand.
const (
	seenSK   = "#SEEN"
	attrSeen = "lastSeenAt"
)

func seenKey(tenant, device string) store.Key {
	return store.Key{PK: devicePK(tenant, device), SK: seenSK}
}

// owner names a device.
type owner struct{ tenant, device string }

// seen is the devices that sent something in this minute. The first reading of
// a minute counts: the others cost a look into a map.
type seen struct {
	mu      sync.RWMutex
	minute  int64                          // since 1970
	marked  map[string]map[string]struct{} // devices, by tenant
	pending map[owner]time.Time            // to be written
	wake    chan struct{}
}

func newSeen() seen {
	return seen{marked: map[string]map[string]struct{}{}, pending: map[owner]time.Time{}, wake: make(chan struct{}, 1)}
}

// note takes in that readings arrived, and reports whether they are of one
// tenant. It does not wait for anything to be written.
func (s *seen) note(arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) (one bool) {
	minute := arrived.Unix() / 60
	var fresh []owner
	var last owner
	var marked map[string]struct{}
	one = true
	s.mu.RLock()
	turned := minute > s.minute || minute < s.minute-1
	for i := range readings {
		r := &readings[i]
		if i == 0 || r.Tenant != last.tenant {
			one = i == 0
			last, marked = owner{tenant: r.Tenant}, s.marked[r.Tenant]
		}
		if r.Device == last.device || verdicts[i].Outcome == varve.Rejected {
			continue
		}
		last.device = r.Device
		if _, ok := marked[r.Device]; turned || !ok {
			fresh = append(fresh, last)
		}
	}
	s.mu.RUnlock()
	if len(fresh) > 0 {
		s.mark(minute, arrived, fresh)
	}
	return one
}

func (s *seen) mark(minute int64, arrived time.Time, fresh []owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A request that began in the minute before may come late; a clock that was
	// set back further starts over.
	if minute > s.minute || minute < s.minute-1 {
		s.minute = minute
		clear(s.marked)
	}
	for _, o := range fresh {
		if _, ok := s.marked[o.tenant][o.device]; ok {
			continue
		}
		// The caller's strings lie in memory that is used again.
		o = owner{strings.Clone(o.tenant), strings.Clone(o.device)}
		if s.marked[o.tenant] == nil {
			s.marked[o.tenant] = map[string]struct{}{}
		}
		s.marked[o.tenant][o.device], s.pending[o] = struct{}{}, arrived
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

func (s *seen) take() map[owner]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.pending
	s.pending = map[owner]time.Time{}
	return taken
}

// seenWriters is how many devices are written at a time: so many that they share
// a disk's syncs, and no more, because readings need the store, too.
const seenWriters = 16

// writeSeen writes what was noted until the fleet is closed, and then what is
// left.
func (f *Fleet) writeSeen() {
	defer close(f.stopped)
	for {
		select {
		case <-f.seen.wake:
			f.flushSeen()
		case <-f.stop:
			f.flushSeen()
			return
		}
	}
}

// flushSeen writes when devices were seen. What cannot be written is left to
// the device's next minute.
func (f *Fleet) flushSeen() {
	var g errgroup.Group
	g.SetLimit(seenWriters)
	for o, at := range f.seen.take() {
		g.Go(func() error {
			if err := f.saw(context.Background(), o, at); err != nil {
				f.opts.Events.Failed("last seen", fmt.Errorf("note that device %s was seen: %w", o.device, err))
			}
			return nil
		})
	}
	_ = g.Wait() // what fails has been told
}

// saw writes that a device was seen: one write. A device that is not registered
// is registered by that.
func (f *Fleet) saw(ctx context.Context, o owner, at time.Time) error {
	it := store.Item{Key: seenKey(o.tenant, o.device), Attrs: map[string]varve.Value{attrSeen: timeValue(at)}}
	err := f.opts.Items.Put(ctx, it, store.IfLess(attrSeen, timeValue(at)))
	if !errors.Is(err, store.ErrCondition) {
		return err
	}
	items, err := f.opts.Items.Get(ctx, []store.Key{it.Key, metadataKey(o.tenant, o.device)}, true)
	switch {
	case err != nil:
		return err
	case len(items) == 0:
		// Its own item says for the first minute when it was seen.
		d := Device{Tenant: o.tenant, Device: o.device, Status: Active, CreatedAt: at, UpdatedAt: at, LastSeenAt: at}
		err = f.opts.Items.Put(ctx, d.item(1), store.IfAbsent())
	case len(items) == 1 && items[0].SK == metadataSK && items[0].Attrs[attrSeen].Text() < timeText(at):
		err = f.opts.Items.Put(ctx, it, store.IfAbsent())
	}
	if errors.Is(err, store.ErrCondition) {
		return nil // another process did the same
	}
	return err
}
