// Package lease lets only one process of a cluster do a job at a time.
//
//	Acquire ──▶ Lease ──▶ Check before each action ──▶ Release
//	   │                    │
//	   ErrHeld              ErrLost: stop
//
// A lease is an item of the registry, with a holder, a fencing token and an end. The main types:
//
//   - [Manager] acquires leases for one process.
//   - [Lease] is an acquired lease. [Lease.Token] returns its fencing token.
//
// These rules always hold:
//
//   - Each acquisition raises the token. A check that extends the lease fails if the stored token
//     has changed.
//   - A lease is taken over after its end. Other processes wait for a margin of three times
//     [MaxClockSkew] after the end, because their clocks may differ from the holder's.
//   - A lease is also taken over if another process sees it unchanged for longer than its lifetime,
//     by the clock of that process alone.
//
// [ErrHeld] means that another process holds the lease, and [ErrLost] that this one lost it. After
// ErrLost, the holder must stop. If the registry fails, acquisitions and extensions fail, too, and
// may be retried. If a holder dies, its lease is taken over later. A Manager is safe for concurrent
// use. A Lease is not.
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

// MaxClockSkew is the largest assumed difference between the clocks of two processes that share a
// store. A margin that allows for clock skew must not be shorter.
const MaxClockSkew = 10 * time.Minute

// takeoverMargin is the time that other processes wait after the end of a lease before they take it
// over. One MaxClockSkew is enough if no clocks differ by more than MaxClockSkew. Two more tolerate
// larger differences, because two holders at the same time do more harm than a late takeover.
// Usually, another process notices earlier that the lease is idle.
const takeoverMargin = 3 * MaxClockSkew

const (
	attrHolder = "holder"
	attrToken  = "token"
	attrUntil  = "until" // end of the lease in milliseconds since 1970
)

// Manager acquires leases. It is safe for concurrent use, and must not be copied after its
// first use.
type Manager struct {
	Items  store.Items
	Now    func() time.Time
	Holder string        // name that identifies this process
	TTL    time.Duration // the lifetime: how long a lease lasts after it was acquired or last extended

	mu   sync.Mutex
	seen map[string]sight // states of leases of other processes, as last read, by name
}

// sight is the state of a lease, and the time at which it was first observed.
type sight struct {
	token, until int64
	since        time.Time
}

// Lease is an acquired lease.
type Lease struct {
	k     *Manager
	name  string
	token int64
	until time.Time
}

func key(name string) store.Key { return store.Key{PK: "LEASE", SK: name} }

// Acquire acquires the lease with the given name. It fails with ErrHeld if another process holds it.
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
		// Replace the lease only if it is unchanged: its holder may have extended it since Get.
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

// idle reports whether this process has seen the lease unchanged for longer than the lifetime of a
// lease, by its own clock.
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

// Token returns the fencing token. Each successful Acquire raises it by one, even by the same
// holder. If it rises by more than one, other processes may have held the lease in between.
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

// Check verifies that this process holds the lease. In the first half of the lifetime, Check assumes
// that it does, and makes no request. After that, Check extends the lease, or fails with ErrLost if
// the lease was acquired once more.
func (l *Lease) Check(ctx context.Context) error {
	// Go's monotonic clock stands still while the machine is suspended, so the wall clock counts, too.
	now, extend := l.k.Now(), l.until.Add(-l.k.TTL/2)
	if now.Before(extend) && now.Round(0).Before(extend.Round(0)) {
		return nil
	}
	err := l.put(ctx, store.IfEquals(attrToken, varve.IntValue(l.token)))
	if errors.Is(err, store.ErrCondition) {
		return fmt.Errorf("lease %s: %w", l.name, ErrLost)
	}
	return err
}

// Release ends the lease, so that another process can acquire it immediately. The token remains in
// the registry. Later checks fail.
func (l *Lease) Release(ctx context.Context) error {
	defer func() { l.token, l.until = 0, time.Time{} }() // no lease has token 0
	err := l.k.Items.Put(ctx, store.Item{Key: key(l.name), Attrs: map[string]varve.Value{
		attrHolder: varve.StringValue(""),
		attrToken:  varve.IntValue(l.token),
		attrUntil:  varve.IntValue(0),
	}}, store.IfEquals(attrToken, varve.IntValue(l.token)))
	if errors.Is(err, store.ErrCondition) {
		return nil // another holder has taken over the lease meanwhile
	}
	return err
}
