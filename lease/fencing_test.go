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

// process is one of several that want the lease. Its clock is ahead of the
// others' by up to what is allowed.
type process struct {
	world *world
	ahead time.Duration
	k     *lease.Manager
	l     *lease.Lease // if it has ever been acquired
	busy  bool         // in the midst of a call
}

// world is all processes over one store. In the midst of one's call, between
// what it reads and what it writes, others act and time passes.
type world struct {
	*rapid.T
	clock *clock
	items *mem.Store
	procs []*process
	still bool // nothing happens in the midst of calls
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

// interrupted lets the world go on before each of a process's reads and writes
// takes effect.
type interrupted struct {
	store.Items
	world *world
}

func (i *interrupted) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	i.world.goOn()
	return i.Items.Get(ctx, keys, consistent)
}

func (i *interrupted) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	i.world.goOn()
	return i.Items.Put(ctx, it, conds...)
}

func (w *world) goOn() {
	if w.still {
		return
	}
	for rapid.IntRange(0, 2).Draw(w.T, "goes on") == 0 {
		w.act()
	}
}

// act lets time pass, or a process that is not in the midst of a call do
// something.
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

// passing returns the processes whose checks pass at this instant.
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

// Two processes never both pass their checks at one time: whatever they do,
// in whatever order their reads and writes take effect, however long one
// pauses in between, and as long as their clocks differ by a minute at most.
func TestNeverTwoHolders(t *testing.T) {
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
				if rapid.Bool().Draw(t, "look away") {
					continue // a look renews leases
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
		t.Error("nobody ever held the lease: the test shows nothing")
	}
}

// once calls do before the next write takes effect.
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

// A lease that its holder renewed after another saw it at its end is not taken
// over by what the other saw.
func TestRenewedDuringTakeover(t *testing.T) {
	c := newClock()
	items, a, b := two(c)
	la := acquire(t, a)
	c.pass(ttl + skew + 1)
	b.Items = &once{items, func() { want(t, "a's check, in the midst", la.Check(t.Context()), nil) }}
	_, err := b.Acquire(t.Context(), "job")
	want(t, "b", err, lease.ErrHeld)
	want(t, "a's check", la.Check(t.Context()), nil)
}

// Of many that see a free lease at once, one gets it.
func TestAcquiredByOne(t *testing.T) {
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

// What another saw before a lease was acquired and released again is out of
// date: the token would not rise.
func TestReleasedDuringTakeover(t *testing.T) {
	items, a, b := two(newClock())
	want(t, "release", acquire(t, a).Release(t.Context()), nil)
	b.Items = &once{items, func() { want(t, "release, in the midst", acquire(t, a).Release(t.Context()), nil) }}
	_, err := b.Acquire(t.Context(), "job")
	want(t, "b", err, lease.ErrHeld)
	acquire(t, b)
}
