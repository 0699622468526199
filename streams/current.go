package streams

import (
	"context"
	"fmt"

	"github.com/varvedb/varve/store"
)

// sharedRead is one read of a stream's item and of the catalog's version. All calls that wait for it were
// made before it began.
type sharedRead struct {
	done      chan struct{}
	stream    Stream
	version   string
	err       error
	abandoned bool // whether the caller that started the read has given up, because its context ended
}

// sharedReads has the reads of one stream: "begun" is under way, and "next" begins after it. Each may
// be nil.
type sharedReads struct{ begun, next *sharedRead }

// Current returns a stream and the version of the catalog. The argument "version" is the key of the item
// with the catalog's version. Both are read in one request that begins after the call. A stream whose item
// is missing is then recovered from the tables. Concurrent calls share a request.
func (r *Registry) Current(ctx context.Context, tenant, stream string, version store.Key) (Stream, string, error) {
	k := id{tenant, stream}
	for {
		all, f, first := r.joinNext(k)
		if first {
			r.makeRead(ctx, k, version, all)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Stream{}, "", context.Cause(ctx)
		}
		if first || !f.abandoned {
			return f.stream, f.version, f.err
		}
	}
}

// joinNext returns the reads of a stream and its next read. The result "first" reports whether the
// caller must start that read.
func (r *Registry) joinNext(k id) (all *sharedReads, f *sharedRead, first bool) {
	r.reading.Lock()
	defer r.reading.Unlock()
	if all = r.sharedReads[k]; all == nil {
		all = &sharedReads{}
		r.sharedReads[k] = all
	}
	if first = all.next == nil; first {
		all.next = &sharedRead{done: make(chan struct{})}
	}
	return all, all.next, first
}

// makeRead executes the next read, after the current one has ended.
func (r *Registry) makeRead(ctx context.Context, k id, version store.Key, all *sharedReads) {
	r.reading.Lock()
	before := all.begun
	r.reading.Unlock()
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done(): // the read below fails
		}
	}
	f := r.beginNext(all)
	f.stream, f.version, f.err = r.readBoth(ctx, k, version)
	f.abandoned = ctx.Err() != nil
	r.reading.Lock()
	defer r.reading.Unlock()
	close(f.done)
	if all.begun == f {
		all.begun = nil
	}
	if all.begun == nil && all.next == nil && r.sharedReads[k] == all {
		delete(r.sharedReads, k)
	}
}

// beginNext begins the next read. Calls that are made later wait for the read after it.
func (r *Registry) beginNext(all *sharedReads) *sharedRead {
	r.reading.Lock()
	defer r.reading.Unlock()
	f := all.next
	all.begun, all.next = f, nil
	return f
}

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
