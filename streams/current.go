package streams

import (
	"context"
	"fmt"

	"github.com/varvedb/varve/store"
)

// flight is one read of a stream's item, which serves all who asked for it
// before it began.
type flight struct {
	done    chan struct{}
	stream  Stream
	version string
	err     error
	gaveUp  bool // who made it did not wait for it
}

// flights are the reads of one stream: the one that has begun, and the one that
// begins when that has ended.
type flights struct{ begun, next *flight }

// Current returns a stream as the registry has it now, and the catalog's
// version, which is the item under a key. Both take one request, which calls
// that come meanwhile share.
func (r *Registry) Current(ctx context.Context, tenant, stream string, version store.Key) (Stream, string, error) {
	k := id{tenant, stream}
	for {
		all, f, first := r.enlist(k)
		if first {
			r.fly(ctx, k, version, all)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Stream{}, "", context.Cause(ctx)
		}
		if first || !f.gaveUp {
			return f.stream, f.version, f.err
		}
	}
}

// enlist returns the reads of a stream, the one that has not begun yet, and
// whether the caller has to make it.
func (r *Registry) enlist(k id) (all *flights, f *flight, first bool) {
	r.flying.Lock()
	defer r.flying.Unlock()
	if all = r.flights[k]; all == nil {
		all = &flights{}
		r.flights[k] = all
	}
	if first = all.next == nil; first {
		all.next = &flight{done: make(chan struct{})}
	}
	return all, all.next, first
}

// fly makes the read that the caller has enlisted, after the one that has begun.
func (r *Registry) fly(ctx context.Context, k id, version store.Key, all *flights) {
	r.flying.Lock()
	before := all.begun
	r.flying.Unlock()
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done(): // the read below fails
		}
	}
	f := r.begin(all)
	f.stream, f.version, f.err = r.readBoth(ctx, k, version)
	f.gaveUp = ctx.Err() != nil
	r.flying.Lock()
	defer r.flying.Unlock()
	close(f.done)
	if all.begun == f {
		all.begun = nil
	}
	if all.begun == nil && all.next == nil && r.flights[k] == all {
		delete(r.flights, k)
	}
}

// begin begins the next read: who comes now waits for the one after it.
func (r *Registry) begin(all *flights) *flight {
	r.flying.Lock()
	defer r.flying.Unlock()
	f := all.next
	all.begun, all.next = f, nil
	return f
}

// readBoth reads a stream and the catalog's version in one request.
func (r *Registry) readBoth(ctx context.Context, k id, version store.Key) (st Stream, v string, err error) {
	items, err := r.items.Get(ctx, []store.Key{k.key(), version}, true)
	if err != nil {
		return st, "", fmt.Errorf("read %s: %w", k, err)
	}
	st, v = Stream{Tenant: k.tenant, Name: k.stream}, store.NoVersion
	for i := range items {
		switch items[i].Key {
		case version:
			v = items[i].Attrs[store.VersionAttr].Text()
		case k.key():
			if st, err = decode(k, &items[i]); err != nil {
				return st, "", err
			}
			r.known.Set(k, st)
		}
	}
	if st.version == 0 {
		st, err = r.recover(ctx, k)
	}
	return st, v, err
}
