package lease_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"pgregory.net/rapid"
)

// process is one of several processes that compete for the lease. Its clock is ahead of the clock
// of the world by at most the takeover margin.
type process struct {
	world *world
	ahead time.Duration
	k     *lease.Manager
	l     *lease.Lease // the lease that the process acquired last, or nil
	busy  bool         // whether the process is inside a call
}

// world holds all processes over one store. In a call of one process, other processes may act and
// time may pass between the read and the write.
type world struct {
	*rapid.T
	clock *clock
	items *mem.Store
	procs []*process
	still bool // if true, no time passes and no other process acts during a call
}

func newWorld(t *rapid.T) *world {
	w := &world{T: t, clock: newClock(), items: mem.New(nil)}
	lasts := rapid.SampledFrom([]time.Duration{skew / 2, ttl}).Draw(t, "lasts")
	for _, name := range []string{"a", "b", "c"} {
		p := &process{world: w, ahead: time.Duration(rapid.Int64Range(0, int64(skew)).Draw(t, "ahead"))}
		now := func() time.Time { return w.clock.now.Add(p.ahead) }
		p.k = &lease.Manager{Items: &interrupted{w.items, w}, Now: now, Holder: name, TTL: lasts}
		w.procs = append(w.procs, p)
	}
	return w
}

// interrupted lets other processes act before each read and write takes effect.
type interrupted struct {
	store.Items
	world *world
}

func (i *interrupted) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	i.world.interrupt()
	return i.Items.Get(ctx, keys, consistent)
}

func (i *interrupted) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	i.world.interrupt()
	return i.Items.Put(ctx, it, conds...)
}

func (w *world) interrupt() {
	if w.still {
		return
	}
	for rapid.IntRange(0, 2).Draw(w.T, "interrupts") == 0 {
		w.act()
	}
}

// act lets time pass, or lets a process that is not in a call do something.
func (w *world) act() {
	p := rapid.SampledFrom(w.procs).Draw(w.T, "process")
	if rapid.IntRange(0, 3).Draw(w.T, "time passes") == 0 {
		w.clock.pass(rapid.SampledFrom([]time.Duration{time.Millisecond, skew / 4, skew / 2, skew, ttl / 4, ttl / 2, ttl, ttl + skew, ttl + 2*skew, 3 * ttl}).Draw(w.T, "time"))
		return
	}
	if p.busy {
		return
	}
	p.busy = true
	defer func() { p.busy = false }()
	switch {
	case p.l == nil || rapid.IntRange(0, 3).Draw(w.T, "again") == 0:
		l, err := p.k.Acquire(context.Background(), "job")
		if err == nil {
			p.l = l
		} else if !errors.Is(err, lease.ErrHeld) {
			w.Fatalf("acquire: %v", err)
		}
	case rapid.IntRange(0, 4).Draw(w.T, "release") == 0:
		if err := p.l.Release(context.Background()); err != nil {
			w.Fatalf("release: %v", err)
		}
	default:
		if err := p.l.Check(context.Background()); err != nil && !errors.Is(err, lease.ErrLost) {
			w.Fatalf("check: %v", err)
		}
	}
}

// passing returns the processes whose checks succeed at this instant.
func (w *world) passing() []string {
	w.still = true
	defer func() { w.still = false }()
	var names []string
	for _, p := range rapid.Permutation(w.procs).Draw(w.T, "order") {
		if p.l != nil && p.l.Check(context.Background()) == nil {
			names = append(names, p.k.Holder)
		}
	}
	return names
}

// TestLease_HasOneHolder draws calls of several processes. Their reads and writes take effect
// in any order, with pauses of any length. The clocks of two processes differ by at most the takeover
// margin. Two processes must never pass their checks at one time.
func TestLease_HasOneHolder(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 20
	}
	held := 0
	for range rounds {
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(t)
			for range rapid.IntRange(1, 30).Draw(t, "steps") {
				w.act()
				if rapid.Bool().Draw(t, "skip checks") {
					continue // checks extend leases, so not every step may check them
				}
				if names := w.passing(); len(names) > 1 {
					t.Fatalf("%v all hold the lease", names)
				} else if len(names) == 1 {
					held++
				}
			}
		})
	}
	if held == 0 {
		t.Error("no process held the lease: the test is ineffective")
	}
}

// once calls the function "do" once, before the next write takes effect.
type once struct {
	store.Items
	do func()
}

func (o *once) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if do := o.do; do != nil {
		o.do = nil
		do()
	}
	return o.Items.Put(ctx, it, conds...)
}

// TestAcquire_FailsIfRenewedMeanwhile extends a lease after another process has read the end of the
// lease. That process must fail to acquire the lease.
func TestAcquire_FailsIfRenewedMeanwhile(t *testing.T) {
	c := newClock()
	items, a, b := two(c)
	la := acquire(t, a)
	c.pass(ttl + skew + 1)
	b.Items = &once{items, func() { want(t, "a's check, during the call", la.Check(t.Context()), nil) }}
	_, err := b.Acquire(t.Context(), "job")
	want(t, "b", err, lease.ErrHeld)
	want(t, "a's check", la.Check(t.Context()), nil)
}

// TestAcquire_GrantsOneOfMany lets two processes acquire a free lease at the same time. Only the first
// write may succeed.
func TestAcquire_GrantsOneOfMany(t *testing.T) {
	for _, released := range []bool{false, true} {
		c := newClock()
		items, a, b := two(c)
		if released {
			want(t, "release", acquire(t, a).Release(t.Context()), nil)
		}
		var won []string
		b.Items = &once{items, func() {
			acquire(t, a)
			won = append(won, "a")
		}}
		if _, err := b.Acquire(t.Context(), "job"); err == nil {
			won = append(won, "b")
		} else {
			want(t, "b", err, lease.ErrHeld)
		}
		if !slices.Equal(won, []string{"a"}) {
			t.Errorf("released before: %t: acquired by %v", released, won)
		}
	}
}

// TestAcquire_FailsIfReleasedMeanwhile lets process a acquire and release a lease after process b
// has read it. The call of b must fail, because the stored token is no longer the token that b
// read.
func TestAcquire_FailsIfReleasedMeanwhile(t *testing.T) {
	items, a, b := two(newClock())
	want(t, "release", acquire(t, a).Release(t.Context()), nil)
	b.Items = &once{items, func() { want(t, "release, during the call", acquire(t, a).Release(t.Context()), nil) }}
	_, err := b.Acquire(t.Context(), "job")
	want(t, "b", err, lease.ErrHeld)
	acquire(t, b)
}
