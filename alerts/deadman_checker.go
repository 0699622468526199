package alerts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

const (
	// deadmanLease names the lease of the process that checks deadman rules.
	deadmanLease = "deadman"
	// deadmanTTL is the time after which another process may take over a lease that was not
	// renewed. It is longer than the minute between two checks, so the same process does the next
	// check, and uses its device states. If that process is killed, another one takes over at its
	// third check.
	deadmanTTL = 75 * time.Second
)

// deadmanChecker checks the rules that are evaluated every minute. A lease ensures that only one
// process checks them at a time.
type deadmanChecker struct {
	deadmanSources
	rules *ruleStore

	checking sync.Mutex
	leases   lease.Manager // remembers when another process last renewed its lease
	held     *lease.Lease  // the lease of this process, which it holds between checks, too; nil if it was released
	token    int64         // token of the lease at the last check
	state    deadmanState
}

// checkAll checks all rules, unless a check is running in this process, or another process holds
// the lease.
func (c *deadmanChecker) checkAll(ctx context.Context) error {
	if !c.checking.TryLock() {
		return nil // a check of this process is running, and a second one would take over its lease
	}
	defer c.checking.Unlock()
	rules, err := c.rules.query(ctx, store.ItemQuery{Index: store.GSI1, PK: deadmanPK})
	if err != nil {
		return err
	}
	if c.state = c.state.retain(rules); len(rules) == 0 {
		return nil
	}
	l, err := c.leases.Acquire(ctx, deadmanLease)
	if errors.Is(err, lease.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	c.begin(l)
	var errs []error
	for i := range rules {
		if err := c.checkRule(ctx, l, &rules[i]); err != nil {
			errs = append(errs, fmt.Errorf("deadman rule %s: %w", rules[i].ID, err))
		}
	}
	if len(errs) > 0 { // releases the lease, because another process may succeed
		errs = append(errs, c.release(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

// begin starts a check under a lease. If another process held the lease since the last
// check, it may have changed alerts. Then this check evaluates every device.
func (c *deadmanChecker) begin(l *lease.Lease) {
	others := l.Token() != c.token+1
	c.held, c.token = l, l.Token()
	if others {
		c.state.recheckAll()
	}
}

// release releases the lease, so that another process can check immediately.
func (c *deadmanChecker) release(ctx context.Context) error {
	if c.held == nil {
		return nil
	}
	err := c.held.Release(ctx)
	c.held = nil
	return err
}

func (c *deadmanChecker) checkRule(ctx context.Context, l *lease.Lease, r *Rule) error {
	kind := r.byClock()
	if kind == nil {
		return fmt.Errorf("kind %q is not evaluated every minute", r.Kind)
	}
	now := c.now()
	state := c.state.of(r, now)
	s := sweep{
		deadmanSources: &c.deadmanSources, rule: r, kind: kind, lease: l, before: state.devices, after: map[string]deviceState{},
		recorded: now.Sub(state.since) >= cacheFor, // by then, every process has read the rule and applies it
	}
	err := s.checkDevices(ctx)
	state.devices = s.after
	if s.failed > 1 {
		s.err = fmt.Errorf("%w (and %d devices more)", s.err, s.failed-1)
	}
	return errors.Join(err, s.err)
}

// close waits until no check is running, and releases the lease.
func (c *deadmanChecker) close() error {
	c.checking.Lock()
	defer c.checking.Unlock()
	return c.release(context.Background())
}
