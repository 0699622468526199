// Package streams records the streams of each tenant, and the classes of the tables with their
// readings.
//
//	router ── Register ──┐
//	query  ── Current  ──┼── Registry ──┬── item: pk TENANT#<tenant>, sk STREAM#<stream>
//	api    ── List     ──┘              └── if the item is lost: tables
//
// The main types:
//
//   - [Registry] reads and changes streams.
//   - [Stream] is one stream, with its classes, its row window and its shards.
//   - [Repair] is a change that completes the item of a stream.
//
// These rules always hold:
//
//   - The router registers a stream before it writes to the stream.
//   - Queries read all classes of a stream, so a stream that was moved to another class loses no
//     readings. A class is never removed from a stream, and row windows and shards only grow.
//   - If the item of a stream is lost, it is recovered from the tables.
//
// If the store of the items fails, Register still succeeds for cached streams, and Get and List may
// return cached results. Other calls fail, and may be retried. A Registry is safe for concurrent use.
package streams

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

const (
	// cacheFor is the maximum age of a cached stream for reads that need not be consistent.
	cacheFor = 10 * time.Second
	// refreshAfter is the age of a cached stream at which a write rereads it.
	refreshAfter = time.Minute
)

// Attributes of a stream's item.
const (
	attrClasses = "classes"    // JSON array of class names, sorted
	attrWindow  = "row_window" // row window in milliseconds
	attrShards  = "shards"     // JSON object: device → number of shards
	attrVersion = registry.AttrVersion
)

const streamPrefix = "STREAM#"

// Stream is one stream of a tenant. Callers must not change it.
type Stream struct {
	Tenant  string
	Name    string
	Classes []string // the classes into whose tables the stream was written, sorted
	// Window is a multiple of all row windows that the stream ever had. 0 means a millisecond.
	Window time.Duration
	// Shards maps each hot device to the number of shards over which it is spread.
	Shards map[string]int

	version int64 // version of the item; 0 means that the item is missing
}

// Layout returns the layout with which all readings of a device are found.
func (s *Stream) Layout(device string) store.Layout {
	return store.Layout{RowWindow: s.Window, Shards: s.Shards[device]}
}

// Registry reads and changes streams. It is safe for concurrent use.
type Registry struct {
	items store.Items
	known *registry.Cache[id, Stream]

	layouts store.LayoutReader // nil if the store cannot list the streams in tables
	classOf func(prefix string) (class string, ok bool)
	created func(ctx context.Context, tenant, stream string) error // if nil, it is not called

	lists listCache

	reading     sync.Mutex
	sharedReads map[id]*sharedReads
}

type id struct{ tenant, stream string }

// New returns a registry over items.
func New(items store.Items, now func() time.Time) *Registry {
	return &Registry{
		items: items, sharedReads: map[id]*sharedReads{},
		known: registry.NewCache[id](registry.CacheOptions[Stream]{
			TTL: cacheFor, Now: now, Older: func(a, b Stream) bool { return a.version < b.version },
		}),
		classOf: func(string) (string, bool) { return "", false },
	}
}

// RecoverFrom sets the tables from which the registry recovers streams whose items are missing. The
// function classOf returns the class of a table prefix. RecoverFrom must be called before the
// registry is used.
func (r *Registry) RecoverFrom(s store.LayoutReader, classOf func(prefix string) (class string, ok bool)) {
	r.layouts, r.classOf = s, classOf
}

// OnCreate sets a function that the registry calls before it registers a stream that has never had
// readings. If the function fails, so does Register. OnCreate must be called before the registry is used.
func (r *Registry) OnCreate(created func(ctx context.Context, tenant, stream string) error) {
	r.created = created
}

// recover returns a stream whose item is missing, as the tables record it.
func (r *Registry) recover(ctx context.Context, k id) (Stream, error) {
	st := Stream{Tenant: k.tenant, Name: k.stream}
	if r.layouts == nil {
		return st, nil
	}
	found, err := r.layouts.StreamLayout(ctx, k.tenant, k.stream)
	if err != nil {
		return st, fmt.Errorf("find stream %s of tenant %s in tables: %w", k.stream, k.tenant, err)
	}
	st.merge(&found, r.classOf)
	return st, nil
}

func (k id) key() store.Key {
	return store.Key{PK: registry.TenantPK(k.tenant), SK: streamPrefix + k.stream}
}

// String names a stream in errors.
func (k id) String() string { return "stream " + k.stream + " of tenant " + k.tenant }

// Register records durably that a stream is written into the tables of a class, with a row window.
//
// For a stream that is cached with the class and the row window, Register rereads the registry only after a
// minute. If that read fails, Register still succeeds.
func (r *Registry) Register(ctx context.Context, tenant, stream, class string, window time.Duration) (Stream, error) {
	k := id{tenant, stream}
	known, age, ok := r.known.Lookup(k)
	registered := ok && known.includes(class, window)
	if registered && age >= 0 && age < refreshAfter {
		return known, nil
	}
	st, err := r.change(ctx, k, func(st *Stream) error {
		if len(st.Classes) == 0 && r.created != nil {
			if err := r.created(ctx, tenant, stream); err != nil {
				return err
			}
		}
		if !st.includes(class, window) {
			st.Window = store.Layout{RowWindow: st.Window}.Widen(store.Layout{RowWindow: window}).RowWindow
			st.addClass(class)
		}
		return nil
	})
	if err != nil && registered {
		return known, nil // the cached registration is still valid, because classes and row windows are never removed
	}
	return st, err
}

func (s *Stream) includes(class string, window time.Duration) bool {
	return slices.Contains(s.Classes, class) && s.covers(window)
}

// Spread raises the number of shards of a device's series, up to store.MaxShards. The number
// cannot be lowered, because all shards have readings. For an unknown stream, Spread fails with
// NotFound.
//
// Writers in all processes use the new number within a minute, and consistent reads immediately.
func (r *Registry) Spread(ctx context.Context, tenant, stream, device string, shards int) (Stream, error) {
	return r.change(ctx, id{tenant, stream}, func(st *Stream) error {
		now := max(st.Shards[device], 1)
		switch {
		case len(st.Classes) == 0:
			return varve.Errorf(varve.NotFound, "stream %s: not found: GET /v1/streams lists all streams", stream)
		case shards < now || shards > store.MaxShards:
			return varve.InvalidParam("shards", "%d is not from the current %d to %d", shards, now, store.MaxShards)
		case shards > now:
			st.Shards = maps.Clone(st.Shards)
			if st.Shards == nil {
				st.Shards = map[string]int{}
			}
			st.Shards[device] = shards
		}
		return nil
	})
}

// change updates a stream's item with the function "do", and caches the stream. If the function
// changes nothing, an existing item is not written. Errors of the function are returned as they
// are.
func (r *Registry) change(ctx context.Context, k id, do func(*Stream) error) (Stream, error) {
	var st Stream
	update := registry.Updater{Items: r.items, Legacy: attrClasses}
	_, err := update.Update(ctx, k.key(), k.String(), func(old *store.Item) (*store.Item, error) {
		was, err := r.streamOf(ctx, k, old)
		if st = was; err != nil {
			return nil, err
		}
		if err := do(&st); err != nil {
			st = was
			return nil, err
		}
		if st.equal(&was) && was.version > 0 {
			return nil, nil
		}
		st.version = registry.VersionOf(old) + 1
		return st.item(k)
	})
	if err == nil {
		r.known.Set(k, st)
	}
	return st, err
}

func (s *Stream) equal(o *Stream) bool {
	return slices.Equal(s.Classes, o.Classes) && s.Window == o.Window && maps.Equal(s.Shards, o.Shards)
}

func (r *Registry) read(ctx context.Context, k id) (Stream, error) {
	items, err := r.items.Get(ctx, []store.Key{k.key()}, true)
	if err != nil {
		return Stream{}, fmt.Errorf("read %s: %w", k, err)
	}
	if len(items) == 0 {
		return r.streamOf(ctx, k, nil)
	}
	return r.streamOf(ctx, k, &items[0])
}

// streamOf returns the stream of an item. If the item is nil, it recovers the stream from the
// tables.
func (r *Registry) streamOf(ctx context.Context, k id, it *store.Item) (Stream, error) {
	if it == nil {
		return r.recover(ctx, k)
	}
	return decode(k, it)
}

// Exists reports whether a stream exists, that is, whether it was ever written to. A stream never ceases to
// exist. So once this process has found a stream, Exists does not read the registry for it.
func (r *Registry) Exists(ctx context.Context, tenant, stream string) (bool, error) {
	if known, _, ok := r.known.Lookup(id{tenant, stream}); ok && len(known.Classes) > 0 {
		return true, nil
	}
	st, err := r.Get(ctx, tenant, stream, true)
	return len(st.Classes) > 0, err
}

// Get returns a stream. A stream to which nothing was written has no classes. If the argument
// "fresh" is set, the registry is read; otherwise a copy that is up to ten seconds old may be
// returned.
func (r *Registry) Get(ctx context.Context, tenant, stream string, fresh bool) (Stream, error) {
	k := id{tenant, stream}
	if known, age, ok := r.known.Lookup(k); ok && !fresh && age >= 0 && age < cacheFor {
		return known, nil
	}
	st, err := r.read(ctx, k)
	if err == nil && st.version > 0 {
		r.known.Set(k, st)
	}
	return st, err
}
