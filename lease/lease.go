// Package lease lets one process of many do something, over the registry.
//
// A lease is an item with a holder, a token and an end. Every taking over
// raises the token (fencing): whoever acts under a lease checks it right before
// each step, and a step that was begun under an older token fails its next
// check. A lease is taken over when its end has passed by more than the clocks
// of two processes may differ, or when it was seen not to be renewed for as long
// as it lasts, by the clock of whoever takes it over alone.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// ErrHeld means that another process holds the lease.
var ErrHeld = errors.New("lease is held by another process")

// ErrLost means that the lease was taken over.
var ErrLost = errors.New("lease was lost")

// MaxClockSkew is the assumed limit of the difference between the clocks of two
// processes that share a store. Every margin for clocks is derived from it.
const MaxClockSkew = 10 * time.Minute

// takeoverMargin is the time after the end of a lease at which its end is trusted.
// One skew is enough for clocks as assumed. Two more tolerate a clock that is far
// off, because two holders at once do more harm than a late takeover. Other
// processes usually see earlier that a lease is idle.
const takeoverMargin = 3 * MaxClockSkew

const (
	attrHolder = "holder"
	attrToken  = "token"
	attrUntil  = "until" // unix milliseconds
)

// Manager grants leases kept in items. It is safe for concurrent use, and not to
// be copied once it is used.
type Manager struct {
	Items  store.Items
	Now    func() time.Time
	Holder string        // names this process, uniquely
	TTL    time.Duration // how long a lease lasts without a check

	mu   sync.Mutex
	seen map[string]sight // of other processes' leases, by name
}

// sight is a lease as it was met, and when it was first met so.
type sight struct {
	token, until int64
	since        time.Time
}

// Lease is a lease that is held.
type Lease struct {
	k     *Manager
	name  string
	token int64
	until time.Time
}

func key(name string) store.Key { return store.Key{PK: "LEASE", SK: name} }

// Acquire takes the lease of a name. It fails with ErrHeld if another process
// has it.
func (k *Manager) Acquire(ctx context.Context, name string) (*Lease, error) {
	items, err := k.Items.Get(ctx, []store.Key{key(name)}, true)
	if err != nil {
		return nil, fmt.Errorf("lease %s: %w", name, err)
	}
	l := &Lease{k: k, name: name, token: 1}
	conds := []store.Cond{store.IfAbsent()}
	if len(items) > 0 {
		it := &items[0]
		token := it.Attrs[attrToken]
		until := time.UnixMilli(registry.Int(it.Attrs[attrUntil]))
		if holder := it.Attrs[attrHolder].Text(); holder != k.Holder && !k.Now().After(until.Add(takeoverMargin)) && !k.idle(name, registry.Int(token), until.UnixMilli()) {
			return nil, fmt.Errorf("lease %s: %w: %s until %s", name, ErrHeld, holder, until.UTC().Format(time.RFC3339))
		}
		l.token = registry.Int(token) + 1
		// Its holder may have taken it over again, or renewed it, since.
		conds = []store.Cond{store.IfEquals(attrToken, token), store.IfEquals(attrUntil, it.Attrs[attrUntil])}
	}
	if err := l.put(ctx, conds...); err != nil {
		if errors.Is(err, store.ErrCondition) {
			return nil, fmt.Errorf("lease %s: %w: it was just taken", name, ErrHeld)
		}
		return nil, fmt.Errorf("lease %s: %w", name, err)
	}
	return l, nil
}

// idle reports whether a lease has been seen unchanged for longer than it lasts,
// which this process measures with its own clock.
func (k *Manager) idle(name string, token, until int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	if was, ok := k.seen[name]; ok && was.token == token && was.until == until && !now.Before(was.since) {
		return now.Sub(was.since) > k.TTL
	}
	if k.seen == nil {
		k.seen = map[string]sight{}
	}
	k.seen[name] = sight{token, until, now}
	return false
}

// Token is the number of this taking. Every Acquire that succeeds raises it by
// one, also the holder's own: if that is more than one above the one before,
// others have held the lease in between, or may have.
func (l *Lease) Token() int64 { return l.token }

func (l *Lease) put(ctx context.Context, conds ...store.Cond) error {
	until := l.k.Now().Add(l.k.TTL)
	err := l.k.Items.Put(ctx, store.Item{Key: key(l.name), Attrs: map[string]varve.Value{
		attrHolder: varve.StringValue(l.k.Holder),
		attrToken:  varve.IntValue(l.token),
		attrUntil:  varve.IntValue(until.UnixMilli()),
	}}, conds...)
	if err == nil {
		l.until = until
	}
	return err
}

// Check makes sure that the lease is still held, and extends it when half of
// its time is over. It fails with ErrLost.
func (l *Lease) Check(ctx context.Context) error {
	if l.k.Now().Before(l.until.Add(-l.k.TTL / 2)) {
		return nil
	}
	err := l.put(ctx, store.IfEquals(attrToken, varve.IntValue(l.token)))
	if errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("lease %s: %w", l.name, ErrLost)
	}
	return err
}

// Release gives the lease up, so that another process need not wait for its
// end. The token stays. Checks fail from now on.
func (l *Lease) Release(ctx context.Context) error {
	defer func() { l.token, l.until = 0, time.Time{} }() // no lease has that token
	err := l.k.Items.Put(ctx, store.Item{Key: key(l.name), Attrs: map[string]varve.Value{
		attrHolder: varve.StringValue(""),
		attrToken:  varve.IntValue(l.token),
		attrUntil:  varve.IntValue(0),
	}}, store.IfEquals(attrToken, varve.IntValue(l.token)))
	if errors.Is(err, store.ErrCondition) {
		return nil // taken over meanwhile
	}
	return err
}
