package devices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	// writers is the number of records that are written at a time. It is large enough to share a
	// disk's syncs, and small enough to leave capacity for readings.
	writers = 16
	// retryAfter is the time after which a failed write is retried. It is well
	// within the extra minute that deadman rules wait.
	retryAfter = 10 * time.Second
)

// writeInBackground writes pending records until the registry is closed. At the end, it writes the records
// that are still pending.
func (r *Registry) writeInBackground() {
	defer close(r.stopped)
	retry := time.NewTimer(retryAfter)
	defer retry.Stop()
	for {
		select {
		case <-r.lastSeen.wake:
		case <-retry.C:
		case <-r.stop:
			r.writePending()
			return
		}
		retry.Stop()
		if !r.writePending() {
			retry.Reset(retryAfter)
		}
	}
}

// writePending writes the pending records, and reports whether all were written.
// The others stay pending.
func (r *Registry) writePending() bool {
	var g errgroup.Group
	g.SetLimit(writers)
	for id, at := range r.lastSeen.takePending() {
		g.Go(func() error {
			err := r.write(context.Background(), id, at)
			if err != nil {
				r.opts.Failed("last seen", fmt.Errorf("write last-seen time of device %s: %w", id.device, err))
				r.lastSeen.restorePending(id, at)
			}
			return err
		})
	}
	return g.Wait() == nil // write failures were reported above
}

// write writes a last-seen time, unless the same or a later one is stored. It usually needs one
// request. If the record is for any stream, and the device is not registered, write registers the
// device.
func (r *Registry) write(ctx context.Context, id recordID, at time.Time) error {
	it := id.item(at)
	err := r.opts.Items.Put(ctx, it, store.IfLess(attrLastSeen, registry.TimeValue(at)))
	if !errors.Is(err, store.ErrCondition) {
		return err
	}
	if id.stream != "" {
		err = r.opts.Items.Put(ctx, it, store.IfAbsent())
	} else {
		err = r.writeFirst(ctx, id.deviceID, it, at)
	}
	if errors.Is(err, store.ErrCondition) {
		return nil // the same or a later time is stored, or another process has just written the record
	}
	return err
}

// writeFirst creates the last-seen record of a device, unless it exists or the device's item has the same
// or a later time. If the device is not registered, writeFirst registers it.
func (r *Registry) writeFirst(ctx context.Context, id deviceID, it store.Item, at time.Time) error {
	metadata := metadataKey(id.tenant, id.device)
	items, err := r.opts.Items.Get(ctx, []store.Key{it.Key, metadata}, true)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(items, func(it store.Item) bool { return it.SK == metadataSK }) {
		return r.register(ctx, id, at)
	}
	if len(items) > 1 || items[0].Attrs[attrLastSeen].Text() >= registry.TimeText(at) {
		return nil
	}
	if err := r.opts.Items.Put(ctx, it, store.IfAbsent()); err != nil {
		return err
	}
	// If the device was deleted meanwhile, register it. Otherwise later writes would find this last-seen
	// record, and never register the device.
	items, err = r.opts.Items.Get(ctx, []store.Key{metadata}, true)
	if err != nil || len(items) > 0 {
		return err
	}
	return r.register(ctx, id, at)
}

// register registers a device, unless it is registered.
func (r *Registry) register(ctx context.Context, id deviceID, at time.Time) error {
	first := recordID{deviceID: id}
	return r.opts.Items.Put(ctx, first.firstItem(at), store.IfAbsent())
}
