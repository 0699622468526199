// Package streams keeps in the registry which streams there are and in the
// tables of which classes their readings may be. The router notes it before it
// writes; queries ask for it, so that a stream that was moved to another class
// loses nothing that it had before.
//
// One item a stream: pk TENANT#<tenant>, sk STREAM#<stream>, classes.
package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// cacheFor is how long a stream's classes are taken from memory for reads that
// need not be consistent.
const cacheFor = 10 * time.Second

// attrClasses holds the classes as a JSON array in the order of their names.
const attrClasses = "classes"

// Stream is one stream of a tenant.
type Stream struct {
	Tenant  string
	Name    string
	Classes []string // into whose tables it was written, sorted
}

// Registry knows the streams. It is safe for concurrent use.
type Registry struct {
	items store.Items
	now   func() time.Time

	mu    sync.RWMutex
	known map[id]entry
}

type id struct{ tenant, stream string }

type entry struct {
	classes []string
	read    time.Time
}

// New returns the registry that is kept in items.
func New(items store.Items, now func() time.Time) *Registry {
	return &Registry{items: items, now: now, known: map[id]entry{}}
}

func (k id) key() store.Key {
	return store.Key{PK: "TENANT#" + k.tenant, SK: "STREAM#" + k.stream}
}

// Note makes sure that the registry says that a stream is written into a
// class's tables. It is durable when Note returns. What was noted before costs
// nothing.
func (r *Registry) Note(ctx context.Context, tenant, stream, class string) error {
	k := id{tenant, stream}
	r.mu.RLock()
	noted := slices.Contains(r.known[k].classes, class)
	r.mu.RUnlock()
	if noted {
		return nil
	}
	for {
		err := r.add(ctx, k, class)
		if !errors.Is(err, store.ErrCondition) {
			return err
		}
		// Somebody else noted something of the stream: look again.
	}
}

func (r *Registry) add(ctx context.Context, k id, class string) error {
	classes, cond, err := r.read(ctx, k)
	if err != nil {
		return err
	}
	if slices.Contains(classes, class) {
		r.remember(k, classes)
		return nil
	}
	classes = append(slices.Clone(classes), class)
	slices.Sort(classes)
	value, err := encode(classes)
	if err != nil {
		return err
	}
	it := store.Item{Key: k.key(), Attrs: map[string]varve.Value{attrClasses: value}}
	if err := r.items.Put(ctx, it, cond); err != nil {
		return fmt.Errorf("note stream %s of tenant %s: %w", k.stream, k.tenant, err)
	}
	r.remember(k, classes)
	return nil
}

// read returns the classes of a stream, and the condition under which they are
// still what was read.
func (r *Registry) read(ctx context.Context, k id) ([]string, store.Cond, error) {
	items, err := r.items.Get(ctx, []store.Key{k.key()}, true)
	if err != nil {
		return nil, store.Cond{}, fmt.Errorf("read stream %s of tenant %s: %w", k.stream, k.tenant, err)
	}
	if len(items) == 0 {
		return nil, store.IfAbsent(), nil
	}
	classes, err := decode(&items[0])
	return classes, store.IfEquals(attrClasses, items[0].Attrs[attrClasses]), err
}

func (r *Registry) remember(k id, classes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[k] = entry{classes: classes, read: r.now()}
}

// Classes returns the classes into whose tables a stream was ever written,
// sorted; none for an unknown stream. Fresh asks the registry itself rather
// than a copy that is up to ten seconds old.
func (r *Registry) Classes(ctx context.Context, tenant, stream string, fresh bool) ([]string, error) {
	k := id{tenant, stream}
	r.mu.RLock()
	e, ok := r.known[k]
	r.mu.RUnlock()
	if age := r.now().Sub(e.read); ok && !fresh && age >= 0 && age < cacheFor {
		return e.classes, nil
	}
	classes, _, err := r.read(ctx, k)
	if err != nil {
		return nil, err
	}
	if len(classes) > 0 {
		r.remember(k, classes)
	}
	return classes, nil
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
			classes, err := decode(&page.Items[i])
			if err != nil {
				return nil, err
			}
			list = append(list, Stream{Tenant: tenant, Name: strings.TrimPrefix(page.Items[i].SK, "STREAM#"), Classes: classes})
		}
		if !page.More {
			return list, nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

func encode(classes []string) (varve.Value, error) {
	text, err := json.Marshal(classes)
	if err != nil {
		return varve.Value{}, err
	}
	return varve.JSONValue(text)
}

func decode(it *store.Item) ([]string, error) {
	var classes []string
	if err := json.Unmarshal([]byte(it.Attrs[attrClasses].Text()), &classes); err != nil {
		return nil, fmt.Errorf("item %s %s: %s: %w", it.PK, it.SK, attrClasses, err)
	}
	return classes, nil
}
