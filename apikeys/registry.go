package apikeys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Registry creates, lists, revokes and checks keys. It is safe for concurrent use.
type Registry struct {
	items store.Items
	now   func() time.Time

	on      atomic.Bool
	offAt   atomic.Int64 // time of the last read that found no key, in nanoseconds since 1970; 0 means none
	flight  singleflight.Group
	guesses *rate.Limiter
	used    usage

	mu      sync.RWMutex
	known   map[string]*entry    // cached keys by id
	unknown map[string]time.Time // missing ids, and the time of their lookup
	changes uint64               // number of changes of keys by this process
}

// New returns a registry of the keys in items.
func New(items store.Items, now func() time.Time) *Registry {
	return &Registry{
		items: items, now: now, guesses: rate.NewLimiter(guessesPerSecond, guessesAtOnce),
		known: map[string]*entry{}, unknown: map[string]time.Time{},
		used: usage{minutes: map[string]int64{}, pending: map[string]time.Time{}},
	}
}

// Create creates a key and returns its text, which is not stored. When it returns, the key is durable.
// From then on, requests to this process need a key, and requests to other processes need one within
// ten seconds. The first key must be an admin key of varve.DefaultTenant, because only such a key can
// create keys of all tenants. If the draft is invalid, Create returns an Invalid error that names the
// parameter.
func (r *Registry) Create(ctx context.Context, d Draft) (k Key, text string, err error) {
	now := r.now().UTC().Truncate(time.Millisecond)
	d.Tenant = cmp.Or(d.Tenant, varve.DefaultTenant)
	if err := d.Check(now); err != nil {
		return k, "", err
	}
	if err := r.turnOn(ctx, &d, now); err != nil {
		return k, "", err
	}
	for {
		s := stored{Key: Key{Tenant: d.Tenant, Name: d.Name, Scopes: d.Scopes, Rate: d.Rate, Created: now}}
		if !d.Expires.IsZero() {
			s.Expires = d.Expires.UTC().Truncate(time.Millisecond)
		}
		s.ID, text = newText()
		s.hash = hashOf(text)
		err := r.put(ctx, &s, store.IfAbsent())
		if errors.Is(err, store.ErrCondition) { // another key has that id, or the answer to the write was lost
			is, rerr := r.read(ctx, s.ID)
			if rerr == nil && (is == nil || is.hash != s.hash) {
				continue
			}
			err = rerr
		}
		if err != nil {
			return k, "", err
		}
		r.changed(&s)
		return s.Key, text, nil
	}
}

// turnOn records that keys exist, before the first key is created. If the process stops in between,
// requests are denied.
func (r *Registry) turnOn(ctx context.Context, d *Draft, now time.Time) error {
	on, err := r.readOn(ctx)
	if err != nil || on {
		return err
	}
	if err := d.CheckFirst(); err != nil {
		return err
	}
	if err := r.items.Put(ctx, OnMark(now)); err != nil {
		return fmt.Errorf("record that keys exist: %w", err)
	}
	r.on.Store(true)
	return nil
}

// OnMark returns the item that records that keys exist. If damage may have destroyed it, a repair
// writes it. From then on requests need a key, even if none existed.
func OnMark(now time.Time) store.Item {
	return store.Item{Key: keyOf(onKey), Attrs: map[string]varve.Value{attrSince: varve.StringValue(now.UTC().Format(timeForm))}}
}

func (r *Registry) put(ctx context.Context, s *stored, cond store.Cond) error {
	it, err := s.item()
	if err != nil {
		return err
	}
	if err := r.items.Put(ctx, it, cond); err != nil {
		return fmt.Errorf("write key %s: %w", s.ID, err)
	}
	return nil
}

// List returns the keys of a tenant in order of creation; "" means all tenants. It includes revoked and
// expired keys for 90 days after their end.
func (r *Registry) List(ctx context.Context, tenant string) ([]Key, error) {
	q := store.ItemQuery{PK: partition, Consistent: true}
	list := []Key{}
	for it, err := range registry.All(ctx, r.items, q) {
		if err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		if it.SK == onKey {
			continue
		}
		s, err := decode(it)
		if err != nil {
			return nil, err
		}
		if tenant == "" || s.Tenant == tenant {
			list = append(list, s.Key)
		}
	}
	slices.SortFunc(list, func(a, b Key) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return list, r.addUsed(ctx, list)
}

// Revoke ends a key of a tenant; "" means any tenant. This process denies the key immediately, others
// within ten seconds. Revoking a revoked key changes nothing. If the key is missing or of another
// tenant, Revoke fails with NotFound.
func (r *Registry) Revoke(ctx context.Context, tenant, id string) (Key, error) {
	none := varve.Errorf(varve.NotFound, "key %s: not found: GET /v1/keys lists all keys", shown(id))
	if !isID(id) {
		return Key{}, none
	}
	s, err := r.read(ctx, id)
	switch {
	case err != nil:
		return Key{}, err
	case s == nil || tenant != "" && s.Tenant != tenant:
		return Key{}, none
	case !s.Revoked.IsZero():
		r.changed(s)
		return s.Key, nil
	}
	s.Revoked = r.now().UTC().Truncate(time.Millisecond)
	err = r.put(ctx, s, store.IfExists())
	if errors.Is(err, store.ErrCondition) {
		return Key{}, none
	}
	if err != nil {
		return Key{}, err
	}
	r.changed(s)
	return s.Key, nil
}

// shown returns an id for a message. A malformed id is replaced, because it may be a secret.
func shown(id string) string {
	if isID(id) {
		return id
	}
	return "of that id"
}

func (r *Registry) read(ctx context.Context, id string) (*stored, error) {
	items, err := r.items.Get(ctx, []store.Key{keyOf(id)}, true)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", id, err)
	}
	if len(items) == 0 {
		return nil, nil
	}
	return decode(&items[0])
}

// On reports whether requests need keys, because one exists or existed. It remembers
// true forever, and false for ten seconds.
func (r *Registry) On(ctx context.Context) (bool, error) {
	if r.on.Load() {
		return true, nil
	}
	if at := r.offAt.Load(); at != 0 && fresh(time.Unix(0, at), r.now()) {
		return false, nil
	}
	on, err, _ := r.flight.Do(onKey, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		return r.readOn(ctx)
	})
	if err != nil {
		return true, err
	}
	return on.(bool), nil
}

func (r *Registry) readOn(ctx context.Context) (bool, error) {
	begin := r.now()
	items, err := r.items.Get(ctx, []store.Key{keyOf(onKey)}, true)
	if err != nil {
		return true, fmt.Errorf("read whether keys exist: %w", err)
	}
	if len(items) > 0 {
		r.on.Store(true)
		return true, nil
	}
	r.offAt.Store(begin.UnixNano())
	return r.on.Load(), nil // a key may have been created meanwhile
}
