package changes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
)

// Settled determines which arrivals are settled.
type Settled interface {
	// Settled returns the settled time, before which all arrivals are settled, and the epoch of the clock.
	Settled(ctx context.Context) (time.Time, Epoch, error)
}

// horizonAhead is how far the durable horizon may be ahead of the settled time. After a crash, arrivals
// may be later than the clock by as much.
const horizonAhead = 5 * time.Second

// Horizon determines the settled time of a store with one process. Before it returns a settled time, that
// time or a later one is durable. So within an epoch, no later process assigns an earlier arrival, even if
// its clock is slow.
type Horizon struct {
	items   store.Items
	router  *router.Router
	tracker *Tracker
	now     func() time.Time
	opened  atomic.Bool
	// safe is at or after all settled times that earlier processes returned, in milliseconds since 1970.
	safe atomic.Int64

	mu     sync.Mutex
	until  time.Time // the horizon as it is stored
	epoch  Epoch     // the epoch as it is stored
	resets int       // number of resets of the router's clock that the epoch includes

	renewed atomic.Int64 // a copy of resets, which Admit reads without the lock
}

// attrUntil is an attribute of several records: a durable settled time, or the end of a member's
// lease.
const attrUntil = "until"

// NewHorizon returns the horizon of the writes of a router. The caller calls Open before the first write.
func NewHorizon(items store.Items, r *router.Router, t *Tracker, now func() time.Time) *Horizon {
	return &Horizon{items: items, router: r, tracker: t, now: now}
}

// Open reads the horizon, and makes the router assign only later arrivals. If the horizon is far in
// the future, the clock was wrong before, and an epoch begins. After a failure, the next write or
// read calls Open once more, and fails if that call fails.
func (h *Horizon) Open(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open(ctx)
}

// open reads the horizon, unless that was done before. The caller holds the lock.
func (h *Horizon) open(ctx context.Context) error {
	if h.opened.Load() {
		return nil
	}
	found, err := h.items.Get(ctx, []store.Key{horizonKey}, true)
	if err == nil {
		err = h.tracker.Open(ctx)
	}
	if err != nil {
		return fmt.Errorf("read the settled time: %w", err)
	}
	if len(found) > 0 {
		if err := h.decode(ctx, &found[0]); err != nil {
			return err
		}
		h.router.ArriveFrom(h.until)
		h.safe.Store(h.until.UnixMilli())
	}
	h.opened.Store(true)
	return nil
}

func (h *Horizon) decode(ctx context.Context, item *store.Item) error {
	it, now := registry.NewReader(item), h.now()
	h.until = it.Time(attrUntil)
	h.epoch = decodeEpoch(item, it)
	if err := it.Err(); err != nil || h.until.Sub(now) <= lease.MaxClockSkew {
		return err
	}
	return h.put(ctx, now, h.epoch.next(now))
}

// Settled implements the interface Settled.
func (h *Horizon) Settled(ctx context.Context) (time.Time, Epoch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.open(ctx); err != nil {
		return time.Time{}, Epoch{}, err
	}
	at, epoch, resets := h.current()
	if at.After(h.until) || epoch != h.epoch {
		if err := h.put(ctx, at.Add(horizonAhead), epoch); err != nil {
			return time.Time{}, Epoch{}, err
		}
		h.resets = resets
		h.renewed.Store(int64(resets))
	}
	return at, h.epoch, nil
}

// Admit makes the epoch durable after a reset of the clock, and retries a failed Open. After a reset,
// arrivals are earlier than before, so Admit must be called before the next readings are written.
//
// Admit fails if the arrival may be settled already. This happens if Open succeeded only after the arrival
// was assigned. The returned time is always zero, which means that the write may last for any time.
func (h *Horizon) Admit(ctx context.Context, arrived time.Time) (by time.Time, err error) {
	if count := h.router.ClockResets(); h.opened.Load() && int64(count) == h.renewed.Load() {
		return by, h.checkArrival(arrived)
	}
	if _, _, err := h.Settled(ctx); err != nil {
		return by, err
	}
	return by, h.checkArrival(arrived)
}

// checkArrival fails if the arrival of a write may be settled already, because it was assigned before Open
// succeeded. After a reset of the clock, it accepts all arrivals.
func (h *Horizon) checkArrival(arrived time.Time) error {
	if arrived.UnixMilli() < h.safe.Load() && h.router.ClockResets() == 0 {
		return varve.Errorf(varve.Unavailable, "the arrival of the write is settled already: retry")
	}
	return nil
}

// current returns the settled time and the epoch of the router. The caller holds the lock.
func (h *Horizon) current() (at time.Time, epoch Epoch, resets int) {
	at, reset := h.router.Settled()
	if reset.Count == h.resets {
		return at, h.epoch, reset.Count
	}
	return at, h.epoch.next(reset.At), reset.Count
}

func (h *Horizon) put(ctx context.Context, until time.Time, epoch Epoch) error {
	it := store.Item{Key: horizonKey, Attrs: map[string]varve.Value{attrUntil: registry.TimeValue(until)}}
	epoch.put(it.Attrs)
	if err := h.items.Put(ctx, it); err != nil {
		return fmt.Errorf("put the settled time: %w", err)
	}
	h.until, h.epoch = until, epoch
	return nil
}

// Close stores the exact settled time, without horizonAhead. So a process that starts immediately
// afterward need not assign arrivals that are later than its clock.
func (h *Horizon) Close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.opened.Load() {
		return nil
	}
	if at, epoch, _ := h.current(); at.Before(h.until) || epoch != h.epoch {
		return h.put(ctx, at, epoch)
	}
	return nil
}
