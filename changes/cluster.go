package changes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
)

const (
	// RenewEvery is the time between two calls of [Cluster.Renew]. Other processes usually see the
	// end of a write within this time.
	RenewEvery = 3 * time.Second
	// Linger is how long the arrival of a failed write stays unsettled; see [router.Options].
	Linger = time.Minute
	// clusterAhead is how far the horizon of a member may be ahead of the settled time. Between two
	// renewals, the horizon must not limit the settled time.
	clusterAhead = 10 * time.Second
	// memberLife is the lifetime of the lease of a member.
	memberLife = time.Minute
	// startDelay is the time after which the index of an existing stream is complete. Within this
	// time, all processes must have the setting that turns on the index.
	startDelay = 30 * time.Minute
)

// ClusterOptions configure a cluster. All fields are required.
type ClusterOptions struct {
	Items  store.Items
	Router *router.Router
	Now    func() time.Time
	Holder string // the unique name of this process
	// Limit is the longest time of a write.
	Limit time.Duration
}

// Cluster determines the settled time of a store with several processes. It is safe for concurrent use.
//
// Each process is a member: it stores the arrival of its oldest running write every few seconds,
// with a lease. The settled time is not after the stored arrival of any member, including dead
// members. The record of a dead member is removed after the time in which its writes could add a
// reading.
//
// A member returns only settled times up to its durable horizon. A process that joins assigns only
// arrivals after the horizons of all members, even if its clock is slow. So its arrivals are after
// every cursor that a member has returned.
type Cluster struct {
	o ClusterOptions

	changing sync.Mutex // held while the record of this process is written

	mu     sync.Mutex // guards the fields below, except seen
	joined bool
	closed bool
	self   member // record of this process, as it was last stored
	epoch  Epoch  // epoch of the cluster, as it was last read or stored
	resets int    // number of resets of the router's clock that the record and the epoch include
	// safe is at or after all settled times that were returned before this process joined. A reset of the
	// clock lowers it.
	safe time.Time
	seen map[string]sight // leases of all members, by name; guarded by changing
}

// sight is the lease of a member, and the time since which this process has read it unchanged.
type sight struct{ until, since time.Time }

// NewCluster returns the cluster of the processes that write to a registry.
func NewCluster(o ClusterOptions) *Cluster { return &Cluster{o: o} }

// Renew stores the arrival of the oldest running write and extends the lease, or joins the cluster.
// It also removes the records of dead members. The caller calls it before the first write, and then
// at intervals of RenewEvery.
func (c *Cluster) Renew(ctx context.Context) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	return c.renew(ctx)
}

// Admit makes sure that a write may begin. The lease of this process must be valid, and no settled time
// may be after the arrival. It returns the time until which the write may last.
func (c *Cluster) Admit(ctx context.Context, arrived time.Time) (by time.Time, err error) {
	if !c.isCurrent() {
		c.changing.Lock()
		if !c.isCurrent() {
			err = c.renew(ctx)
		}
		c.changing.Unlock()
		if err != nil {
			return by, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	if !c.isLeased(now) {
		return by, varve.Errorf(varve.Unavailable, "the lease for writes ended while it was extended: retry")
	}
	if arrived.Before(c.safe) {
		return by, varve.Errorf(varve.Unavailable, "the arrival of the write is settled already: retry")
	}
	return now.Add(c.o.Limit), nil
}

// isCurrent reports whether the lease is valid, and the stored record includes all resets of the clock.
func (c *Cluster) isCurrent() bool {
	resets := c.o.Router.ClockResets()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joined && c.resets == resets && c.isLeased(c.o.Now())
}

// isLeased reports whether the lease is valid, by the wall clock and the monotonic clock. The caller
// holds c.mu.
func (c *Cluster) isLeased(now time.Time) bool {
	return c.joined && now.Before(c.self.until) && now.Round(0).Before(c.self.until.Round(0))
}

// Settled implements the interface Settled.
func (c *Cluster) Settled(ctx context.Context) (time.Time, Epoch, error) {
	for {
		own, reset := c.o.Router.Settled()
		c.mu.Lock()
		joined, horizon, epoch := c.joined && c.resets == reset.Count, c.self.horizon, c.epoch
		c.mu.Unlock()
		if !joined {
			if err := c.Renew(ctx); err != nil {
				return time.Time{}, Epoch{}, err
			}
			continue
		}
		ro, err := readRoster(ctx, c.o.Items)
		if err != nil {
			return time.Time{}, Epoch{}, err
		}
		if ro.epoch != epoch {
			// Another member began an epoch. Before that, it stored an earlier arrival in its record. Read
			// all records once more, because ro may lack this change.
			c.mu.Lock()
			c.epoch = ro.epoch
			c.mu.Unlock()
			continue
		}
		// The horizon was durable before the members were read. So a member that joins after that assigns
		// only arrivals after the horizon.
		return ro.oldest(earlier(own, horizon), c.o.Holder), epoch, nil
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// renew implements Renew. The caller holds the lock "changing".
func (c *Cluster) renew(ctx context.Context) error {
	c.mu.Lock()
	leased, closed := c.isLeased(c.o.Now()), c.closed
	c.mu.Unlock()
	if closed {
		return varve.Errorf(varve.Unavailable, "the server is stopping: retry")
	}
	if !leased {
		return c.join(ctx)
	}
	ro, err := readRoster(ctx, c.o.Items)
	if err != nil {
		return err
	}
	err = c.store(ctx, &ro, store.IfEquals(attrUntil, registry.TimeValue(c.self.until)))
	if errors.Is(err, store.ErrCondition) {
		return c.join(ctx) // the record was removed, or an earlier write with an unknown result succeeded
	}
	if err != nil {
		return err
	}
	return c.removeDead(ctx, &ro)
}

// join stores a record of this process, so that the settled times of other members stay before its
// arrivals. Before and after, it reads the settled times that were returned, and makes the router assign
// later arrivals. After a reset of the clock, it also begins an epoch.
func (c *Cluster) join(ctx context.Context) error {
	ro, returned, err := readReturned(ctx, c.o.Items)
	if err != nil {
		return err
	}
	c.o.Router.ArriveFrom(returned)
	c.mu.Lock()
	c.joined = false
	c.self.horizon = later(c.self.horizon, returned)
	c.mu.Unlock()
	if err := c.store(ctx, &ro); err != nil {
		return err
	}
	if ro, returned, err = readReturned(ctx, c.o.Items); err != nil {
		return err
	}
	c.o.Router.ArriveFrom(returned)
	_, reset := c.o.Router.Settled()
	c.mu.Lock()
	c.safe, c.epoch = later(c.safe, returned), ro.epoch
	resets := c.resets
	c.joined = resets == reset.Count
	c.mu.Unlock()
	if resets == reset.Count {
		return nil
	}
	return c.beginEpoch(ctx, &ro, reset)
}

// store writes the record of this process with the arrival of its oldest running write. If this process
// has joined and the clock was reset, it then begins an epoch.
func (c *Cluster) store(ctx context.Context, ro *roster, conds ...store.Cond) error {
	from, reset := c.o.Router.Settled()
	c.mu.Lock()
	joined, resets := c.joined, c.resets
	m := member{name: c.o.Holder, from: from, until: c.o.Now().Add(memberLife), horizon: c.self.horizon}
	c.mu.Unlock()
	m.ends = m.until.Add(c.o.Limit + lease.MaxClockSkew)
	m.horizon = later(m.horizon, ro.oldest(from, m.name).Add(clusterAhead))
	if err := c.o.Items.Put(ctx, m.item(), conds...); err != nil {
		return fmt.Errorf("put the oldest arrival of this process: %w", err)
	}
	c.mu.Lock()
	c.self = m
	c.mu.Unlock()
	if !joined || resets == reset.Count {
		return nil // join begins the epoch
	}
	return c.beginEpoch(ctx, ro, reset)
}

// beginEpoch begins an epoch after a reset of the clock. Before that, it replaces the record of this
// member, so that the record does not have an arrival from before the reset.
func (c *Cluster) beginEpoch(ctx context.Context, ro *roster, reset router.ClockReset) error {
	from, latest := c.o.Router.Settled()
	if latest.Count != reset.Count {
		return varve.Errorf(varve.Unavailable, "the clock was set back once more: retry")
	}
	c.mu.Lock()
	m := c.self
	c.mu.Unlock()
	m.from, m.horizon, m.until = from, from.Add(clusterAhead), c.o.Now().Add(memberLife)
	m.ends = m.until.Add(c.o.Limit + lease.MaxClockSkew)
	if err := c.o.Items.Put(ctx, m.item()); err != nil {
		return fmt.Errorf("put the oldest arrival of this process: %w", err)
	}
	next := ro.epoch.next(reset.At)
	cond := store.IfEquals(attrEpoch, varve.IntValue(ro.epoch.Number))
	if ro.epoch == (Epoch{}) {
		cond = store.IfAbsent()
	}
	if err := c.o.Items.Put(ctx, next.item(), cond); err != nil {
		// If another process has just begun an epoch, the next call continues from that epoch.
		return &varve.Error{Failure: varve.Unavailable, Err: err, Message: "an epoch of the clock could not begin: retry"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self, c.epoch, c.resets, c.joined = m, next, reset.Count, true
	c.safe = earlier(c.safe, reset.At)
	return nil
}

// removeDead removes the records of members that have ended, after it has stored their horizons.
func (c *Cluster) removeDead(ctx context.Context, ro *roster) error {
	now, listed := c.o.Now(), map[string]sight{}
	defer func() { c.seen = listed }()
	for i := range ro.members {
		m := &ro.members[i]
		was, ok := c.seen[m.name]
		if !ok || !was.until.Equal(m.until) || now.Before(was.since) {
			listed[m.name] = sight{m.until, now}
			continue
		}
		listed[m.name] = was
		if m.name == c.o.Holder || now.Sub(was.since) <= memberLife || !now.After(m.ends) {
			continue
		}
		if _, err := c.remove(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the record of a member. First it stores the horizon of the member for processes that
// join later. The result "done" is false if another process has just changed one of the two records.
func (c *Cluster) remove(ctx context.Context, m *member) (done bool, err error) {
	found, err := c.o.Items.Get(ctx, []store.Key{endedKey}, true)
	if err != nil {
		return false, fmt.Errorf("read the settled time: %w", err)
	}
	cond, until := store.IfAbsent(), m.horizon
	if len(found) > 0 {
		r := registry.NewReader(&found[0])
		until = later(until, r.Time(attrUntil))
		if err := r.Err(); err != nil {
			return false, err
		}
		cond = store.IfEquals(attrUntil, found[0].Attrs[attrUntil])
	}
	err = c.o.Items.Put(ctx, store.Item{Key: endedKey, Attrs: map[string]varve.Value{attrUntil: registry.TimeValue(until)}}, cond)
	if err == nil {
		err = c.o.Items.Delete(ctx, memberKey(m.name), store.IfEquals(attrUntil, registry.TimeValue(m.until)))
	}
	if err != nil && !errors.Is(err, store.ErrCondition) {
		return false, fmt.Errorf("remove the record of process %s: %w", m.name, err)
	}
	return err == nil, nil
}

// closeTries is how often Close tries to remove its record. Processes that stop at the same time change the same
// record of settled times.
const closeTries = 8

// Close removes the record of this process, so that its arrivals are settled immediately. If the store
// may still perform a write of this process, the record stays until that is impossible. No write
// may begin afterward.
func (c *Cluster) Close(ctx context.Context) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	m, joined := c.self, c.joined
	c.joined, c.closed = false, true
	c.mu.Unlock()
	if !joined {
		return nil
	}
	if c.o.Router.Idle() {
		for range closeTries {
			if done, err := c.remove(ctx, &m); done || err != nil {
				return err
			}
		}
		return nil // the record ends with its lease
	}
	old := registry.TimeValue(m.until)
	m.from, _ = c.o.Router.Settled()
	m.until = c.o.Now()
	m.ends = m.until.Add(Linger + lease.MaxClockSkew)
	err := c.o.Items.Put(ctx, m.item(), store.IfEquals(attrUntil, old))
	if errors.Is(err, store.ErrCondition) {
		return nil // the record was removed, or a renewal with an unknown result gave it a later end
	}
	return err
}
