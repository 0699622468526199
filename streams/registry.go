// Package streams records the streams of each tenant, and the classes whose tables hold their
// readings.
//
// The router registers a stream before it writes to it. Queries read its classes, so a stream
// that was moved to another class loses no readings. For stores with rows, a [Registry] also
// records the row windows and the shards of a stream.
//
//   - A class is never removed from a stream, and windows and shards only grow.
//   - If the item of a stream is lost, it is recovered from the tables.
//   - If the registry fails, streams in memory can still be written.
//
// Each stream has one item: pk TENANT#<tenant>, sk STREAM#<stream>.
package streams

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

const (
	// cacheFor is the age up to which reads that need not be consistent use memory.
	cacheFor = 10 * time.Second
	// refreshAfter is the age from which writes read a stream again.
	refreshAfter = time.Minute
)

// Attributes of a stream's item.
const (
	attrClasses = "classes"    // JSON array in the order of the names
	attrWindow  = "row_window" // milliseconds
	attrShards  = "shards"     // JSON object: device → number
	attrVersion = "version"    // raised by every change
)

// Stream is one stream of a tenant. It must not be changed.
type Stream struct {
	Tenant  string
	Name    string
	Classes []string // into whose tables it was written, sorted
	// Window covers all row windows that the stream ever had. 0 means a millisecond.
	Window time.Duration
	// Shards is the number of keys over which each hot device is spread.
	Shards map[string]int

	version int64 // 0 means that the item is missing
}

// Layout returns the layout that finds all readings of a device.
func (s *Stream) Layout(device string) store.Layout {
	return store.Layout{RowWindow: s.Window, Shards: s.Shards[device]}
}

// Registry reads and changes streams. It is safe for concurrent use.
type Registry struct {
	items store.Items
	now   func() time.Time

	mu    sync.RWMutex
	known map[id]entry

	surveyor store.Surveyor // nil if the store cannot list the streams in tables
	classOf  func(prefix string) (class string, ok bool)

	reading     sync.Mutex
	sharedReads map[id]*sharedReads
}

type id struct{ tenant, stream string }

type entry struct {
	Stream
	read time.Time
}

// New returns a registry over items.
func New(items store.Items, now func() time.Time) *Registry {
	return &Registry{
		items: items, now: now, known: map[id]entry{}, sharedReads: map[id]*sharedReads{},
		classOf: func(string) (string, bool) { return "", false },
	}
}

// RecoverFrom makes the registry recover streams without an item from tables. Function classOf
// returns the class of a table prefix. RecoverFrom must be called before other methods.
func (r *Registry) RecoverFrom(s store.Surveyor, classOf func(prefix string) (class string, ok bool)) {
	r.surveyor, r.classOf = s, classOf
}

// recover returns a stream without an item, as found in tables.
func (r *Registry) recover(ctx context.Context, k id) (Stream, error) {
	st := Stream{Tenant: k.tenant, Name: k.stream}
	if r.surveyor == nil {
		return st, nil
	}
	found, err := r.surveyor.Survey(ctx, k.tenant, k.stream)
	if err != nil {
		return st, fmt.Errorf("find stream %s of tenant %s in tables: %w", k.stream, k.tenant, err)
	}
	st.merge(&found, r.classOf)
	return st, nil
}

func (k id) key() store.Key {
	return store.Key{PK: "TENANT#" + k.tenant, SK: "STREAM#" + k.stream}
}

// Register records durably that a stream is written into the tables of a class, in rows of a
// window.
//
// A stream that is registered already costs a read once a minute. If that read fails, Register
// succeeds all the same.
func (r *Registry) Register(ctx context.Context, tenant, stream, class string, window time.Duration) (Stream, error) {
	k := id{tenant, stream}
	e, ok := r.remembered(k)
	registered := ok && e.includes(class, window)
	if age := r.now().Sub(e.read); registered && age >= 0 && age < refreshAfter {
		return e.Stream, nil
	}
	st, err := r.change(ctx, k, func(st *Stream) error {
		if !st.includes(class, window) {
			st.Window = store.Layout{RowWindow: st.Window}.Widen(store.Layout{RowWindow: window}).RowWindow
			st.addClass(class)
		}
		return nil
	})
	if err != nil && registered {
		return e.Stream, nil // the stream remains registered
	}
	return st, err
}

// includes reports whether a stream has a class and covers a window.
func (s *Stream) includes(class string, window time.Duration) bool {
	return slices.Contains(s.Classes, class) && s.covers(window)
}

// Spread raises the number of shards of a device's series, up to store.MaxShards. It cannot be
// lowered, because all shards have readings. An unknown stream is NotFound.
//
// Writers in all processes use the new number within a minute, and consistent reads at once.
func (r *Registry) Spread(ctx context.Context, tenant, stream, device string, shards int) (Stream, error) {
	return r.change(ctx, id{tenant, stream}, func(st *Stream) error {
		now := max(st.Shards[device], 1)
		switch {
		case len(st.Classes) == 0:
			return varve.Errorf(varve.NotFound, "stream %s is unknown: no reading was written to it", stream)
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

// change applies do to a stream, writes the result unless it is equal, and remembers it. It
// retries if another process changes the stream. An error of do is returned.
func (r *Registry) change(ctx context.Context, k id, do func(*Stream) error) (Stream, error) {
	for {
		st, cond, err := r.read(ctx, k)
		if err != nil {
			return st, err
		}
		next := st
		if err := do(&next); err != nil {
			return st, err
		}
		if next.equal(&st) && st.version > 0 {
			r.remember(k, st)
			return st, nil
		}
		next.version++
		it, err := next.item(k)
		if err != nil {
			return st, err
		}
		if err = r.items.Put(ctx, it, cond); err == nil {
			r.remember(k, next)
			return next, nil
		}
		if !errors.Is(err, store.ErrCondition) {
			return st, fmt.Errorf("register stream %s of tenant %s: %w", k.stream, k.tenant, err)
		}
		// Another process changed the stream: retry.
	}
}

func (s *Stream) equal(o *Stream) bool {
	return slices.Equal(s.Classes, o.Classes) && s.Window == o.Window && maps.Equal(s.Shards, o.Shards)
}

// read returns a stream, and a condition that holds while its item is unchanged.
func (r *Registry) read(ctx context.Context, k id) (Stream, store.Cond, error) {
	items, err := r.items.Get(ctx, []store.Key{k.key()}, true)
	if err != nil {
		return Stream{}, store.Cond{}, fmt.Errorf("read stream %s of tenant %s: %w", k.stream, k.tenant, err)
	}
	if len(items) == 0 {
		st, err := r.recover(ctx, k)
		return st, store.IfAbsent(), err
	}
	st, err := decode(k, &items[0])
	if _, ok := items[0].Attrs[attrVersion]; !ok { // items of older versions have classes only
		return st, store.IfEquals(attrClasses, items[0].Attrs[attrClasses]), err
	}
	return st, store.IfEquals(attrVersion, varve.IntValue(st.version)), err
}

func (r *Registry) remembered(k id) (entry, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.known[k]
	return e, ok
}

func (r *Registry) remember(k id, st Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[k].version > st.version {
		return // a newer state was remembered since the read
	}
	r.known[k] = entry{Stream: st, read: r.now()}
}

// Get returns a stream. A stream without readings has no classes. If fresh is false, the result
// may be up to ten seconds old.
func (r *Registry) Get(ctx context.Context, tenant, stream string, fresh bool) (Stream, error) {
	k := id{tenant, stream}
	e, ok := r.remembered(k)
	if age := r.now().Sub(e.read); ok && !fresh && age >= 0 && age < cacheFor {
		return e.Stream, nil
	}
	st, _, err := r.read(ctx, k)
	if err == nil && st.version > 0 {
		r.remember(k, st)
	}
	return st, err
}

// List returns the streams of a tenant in the order of their names.
func (r *Registry) List(ctx context.Context, tenant string) ([]Stream, error) {
	q := store.ItemQuery{PK: "TENANT#" + tenant, From: "STREAM#", To: store.PrefixEnd("STREAM#"), Consistent: true}
	var list []Stream
	for {
		page, err := r.items.Query(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list streams of tenant %s: %w", tenant, err)
		}
		for i := range page.Items {
			name := strings.TrimPrefix(page.Items[i].SK, "STREAM#")
			st, err := decode(id{tenant, name}, &page.Items[i])
			if err != nil {
				return nil, err
			}
			list = append(list, st)
		}
		if !page.More {
			return list, nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}
