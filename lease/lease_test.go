package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

const (
	ttl  = 10 * time.Minute
	skew = 3 * lease.MaxClockSkew // the takeover margin
)

type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func acquire(t *testing.T, k *lease.Manager) *lease.Lease {
	t.Helper()
	l, err := k.Acquire(t.Context(), "job")
	if err != nil {
		t.Fatalf("%s: %v", k.Holder, err)
	}
	return l
}

// want checks that err wraps the wanted error, or that both are nil.
func want(t *testing.T, what string, err, is error) {
	t.Helper()
	if !errors.Is(err, is) || (err == nil) != (is == nil) {
		t.Errorf("%s: got %v, want %v", what, err, is)
	}
}

func two(c *clock) (items store.Items, a, b *lease.Manager) {
	items = mem.New(nil)
	return items,
		&lease.Manager{Items: items, Now: c.Now, Holder: "a", TTL: ttl},
		&lease.Manager{Items: items, Now: c.Now, Holder: "b", TTL: ttl}
}

// TestAcquire_TakesOverAfterEnd takes a lease over when the margin after its end has passed, and not
// before. The first holder must then lose the lease.
func TestAcquire_TakesOverAfterEnd(t *testing.T) {
	c := newClock()
	_, a, b := two(c)
	la := acquire(t, a)
	want(t, "a's check", la.Check(t.Context()), nil)
	for _, d := range []time.Duration{0, ttl - 1, 1, skew} {
		c.pass(d)
		b = &lease.Manager{Items: b.Items, Now: b.Now, Holder: b.Holder, TTL: ttl} // a process that has not seen the lease before
		_, err := b.Acquire(t.Context(), "job")
		want(t, "b, before the end has surely passed", err, lease.ErrHeld)
	}
	c.pass(1)
	lb := acquire(t, b)
	want(t, "b's check", lb.Check(t.Context()), nil)
	want(t, "a's check", la.Check(t.Context()), lease.ErrLost)
	want(t, "a's next check", la.Check(t.Context()), lease.ErrLost)
	_, err := a.Acquire(t.Context(), "job")
	want(t, "a, while b has it", err, lease.ErrHeld)
	want(t, "b's check", lb.Check(t.Context()), nil)
}

// TestAcquire_TakesOverIdleLease takes a lease over after another process saw it unchanged for longer
// than its lifetime. The clock of its holder must not matter. A lease that is extended must not be
// taken over.
func TestAcquire_TakesOverIdleLease(t *testing.T) {
	c, ahead := newClock(), newClock()
	ahead.pass(10 * time.Minute)
	_, a, b := two(c)
	a.Now = ahead.Now // the clock of a is ahead, so its leases seem to last longer
	la := acquire(t, a)
	for range 3 {
		for range 4 {
			_, err := b.Acquire(t.Context(), "job")
			want(t, "b, while a renews", err, lease.ErrHeld)
			c.pass(ttl / 4)
			ahead.pass(ttl / 4)
		}
		want(t, "a's check", la.Check(t.Context()), nil)
	}
	for _, d := range []time.Duration{0, ttl / 2, ttl / 2} { // process a does not extend its lease any more
		c.pass(d)
		_, err := b.Acquire(t.Context(), "job")
		want(t, "b, not long enough after", err, lease.ErrHeld)
	}
	c.pass(1)
	acquire(t, b)
	ahead.pass(ttl)
	want(t, "a's check", la.Check(t.Context()), lease.ErrLost)
}

// TestAcquire_ToleratesSkewedClocks sets clocks apart by MaxClockSkew. No lease that is extended may
// be taken over.
func TestAcquire_ToleratesSkewedClocks(t *testing.T) {
	for _, d := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		c, other := newClock(), newClock()
		other.pass(d)
		_, a, b := two(c)
		b.Now = other.Now
		la := acquire(t, a)
		for range 50 {
			c.pass(ttl / 2)
			other.pass(ttl / 2)
			want(t, "a's check", la.Check(t.Context()), nil)
			_, err := b.Acquire(t.Context(), "job")
			want(t, "b, whose clock differs by "+d.String(), err, lease.ErrHeld)
		}
	}
}

func TestLease_NamesAreIndependent(t *testing.T) {
	_, a, b := two(newClock())
	acquire(t, a)
	l, err := b.Acquire(t.Context(), "another job")
	want(t, "b, under another name", err, nil)
	want(t, "b's check", l.Check(t.Context()), nil)
}

// TestCheck_ExtendsLease checks a lease each time that its lifetime has passed. The holder must not
// lose the lease.
func TestCheck_ExtendsLease(t *testing.T) {
	c := newClock()
	_, a, b := two(c)
	la := acquire(t, a)
	for range 100 {
		c.pass(ttl)
		want(t, "a's check", la.Check(t.Context()), nil)
		_, err := b.Acquire(t.Context(), "job")
		want(t, "b", err, lease.ErrHeld)
	}
	c.pass(ttl + skew) // exactly at the end of the margin
	b = &lease.Manager{Items: b.Items, Now: b.Now, Holder: b.Holder, TTL: ttl}
	_, err := b.Acquire(t.Context(), "job")
	want(t, "b, when the end may not have passed", err, lease.ErrHeld)
	c.pass(24 * time.Hour)
	want(t, "a's late check, when nobody took over", la.Check(t.Context()), nil)
	_, err = b.Acquire(t.Context(), "job")
	want(t, "b", err, lease.ErrHeld)
}

// TestCheck_CountsSuspendedTime suspends the machine of a holder for an hour. The monotonic clock of Go stands still
// meanwhile, and another process takes the lease over. The check of the holder must fail.
func TestCheck_CountsSuspendedTime(t *testing.T) {
	c := &clock{time.Now()} // with a reading of the monotonic clock
	_, a, b := two(c)
	la := acquire(t, a)
	c.pass(ttl + skew + time.Hour)
	acquire(t, b)
	awake := c.now
	// The fields of time.Time are wall, ext and loc. With a monotonic reading, ext has its nanoseconds.
	(*[2]int64)(unsafe.Pointer(&awake))[1] -= int64(ttl + skew + time.Hour)
	c.now = awake
	want(t, "a's check after the machine was suspended", la.Check(t.Context()), lease.ErrLost)
}

// writes counts writes. If the field "err" is set, all writes fail with that error.
type writes struct {
	store.Items
	n   int
	err error
}

func (w *writes) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if w.n++; w.err != nil {
		return w.err
	}
	return w.Items.Put(ctx, it, conds...)
}

// TestCheck_WritesOncePerHalfTTL counts writes. A check must not write before half of the
// lifetime has passed.
func TestCheck_WritesOncePerHalfTTL(t *testing.T) {
	c := newClock()
	items, a, _ := two(c)
	w := &writes{Items: items}
	a.Items = w
	la := acquire(t, a)
	for i, step := range []struct {
		pass   time.Duration
		writes int
	}{{0, 0}, {ttl/2 - 1, 0}, {1, 1}, {ttl / 4, 0}, {ttl / 4, 1}, {ttl, 1}} {
		w.n = 0
		c.pass(step.pass)
		want(t, "a's check", la.Check(t.Context()), nil)
		if w.n != step.writes {
			t.Errorf("step %d: %d writes, want %d", i, w.n, step.writes)
		}
	}
}

// TestRelease_EndsLease releases a lease. Any process may acquire it immediately, and checks of the
// released lease must fail.
func TestRelease_EndsLease(t *testing.T) {
	c := newClock()
	_, a, b := two(c)
	la := acquire(t, a)
	want(t, "a's release", la.Release(t.Context()), nil)
	want(t, "a's check after its release", la.Check(t.Context()), lease.ErrLost)
	lb := acquire(t, b)
	want(t, "b's check", lb.Check(t.Context()), nil)
	want(t, "a's check while b has it", la.Check(t.Context()), lease.ErrLost)
	want(t, "a's second release", la.Release(t.Context()), nil)
	_, err := a.Acquire(t.Context(), "job")
	want(t, "a, while b has it", err, lease.ErrHeld)
	c.pass(ttl / 2)
	want(t, "b's check", lb.Check(t.Context()), nil)
}

// TestRelease_LeavesLostLease releases a lost lease. The lease of the new holder must remain.
func TestRelease_LeavesLostLease(t *testing.T) {
	c := newClock()
	_, a, b := two(c)
	la := acquire(t, a)
	c.pass(ttl + skew + 1)
	lb := acquire(t, b)
	want(t, "a's release", la.Release(t.Context()), nil)
	_, err := a.Acquire(t.Context(), "job")
	want(t, "a, while b has it", err, lease.ErrHeld)
	c.pass(ttl / 2)
	want(t, "b's check", lb.Check(t.Context()), nil)
}

// TestAcquire_BySameHolder restarts a process. It must acquire its lease immediately, and its older
// lease must be lost at the next write.
func TestAcquire_BySameHolder(t *testing.T) {
	c := newClock()
	_, a, _ := two(c)
	older := acquire(t, a)
	newer := acquire(t, a)
	c.pass(ttl / 2)
	want(t, "the newer lease's check", newer.Check(t.Context()), nil)
	want(t, "the older lease's check", older.Check(t.Context()), lease.ErrLost)
	want(t, "the older lease's release", older.Release(t.Context()), nil)
	c.pass(ttl / 2)
	want(t, "the newer lease's check", newer.Check(t.Context()), nil)
}

// TestToken_Rises checks that each acquisition raises the token, and that a release does not
// lower it.
func TestToken_Rises(t *testing.T) {
	c := newClock()
	items, a, b := two(c)
	token := func() string {
		got, err := items.Get(t.Context(), []store.Key{{PK: "LEASE", SK: "job"}}, true)
		if err != nil || len(got) != 1 {
			t.Fatalf("the lease's item: %v, %v", got, err)
		}
		return got[0].Attrs["token"].String()
	}
	for i, wanted := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"} {
		k := []*lease.Manager{a, b}[i%2]
		l := acquire(t, k)
		if token() != wanted {
			t.Errorf("acquired with token %s, want %s", token(), wanted)
		}
		if got := fmt.Sprint(l.Token()); got != wanted {
			t.Errorf("the lease says token %s, want %s", got, wanted)
		}
		c.pass(ttl)
		want(t, "check", l.Check(t.Context()), nil)
		if i%3 == 0 {
			c.pass(ttl + skew + 1)
		} else {
			want(t, "release", l.Release(t.Context()), nil)
		}
		if token() != wanted {
			t.Errorf("afterwards the token is %s, want %s", token(), wanted)
		}
	}
}

// TestLease_ReturnsStoreErrors makes the store fail. The error must be neither ErrHeld nor ErrLost.
func TestLease_ReturnsStoreErrors(t *testing.T) {
	c := newClock()
	items, a, b := two(c)
	w := &writes{Items: items}
	a.Items = w
	la := acquire(t, a)
	broken := errors.New("the disk is full")
	w.err = broken
	c.pass(ttl / 2)
	want(t, "a's check", la.Check(t.Context()), broken)
	want(t, "a's release", la.Release(t.Context()), broken)
	_, err := a.Acquire(t.Context(), "job")
	want(t, "a", err, broken)
	_, err = b.Acquire(t.Context(), "job")
	want(t, "b: what a released in vain lasts to its end", err, lease.ErrHeld)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Acquire(ctx, "job")
	want(t, "b, given up", err, context.Canceled)
	if err := items.(*mem.Store).Close(); err != nil {
		t.Fatal(err)
	}
	_, err = b.Acquire(t.Context(), "job")
	want(t, "b, after the store's end", err, store.ErrClosed)
}

// TestAcquire_IgnoresMalformedItem checks that a lease can be acquired although its item names another holder,
// if the end in the item is 0, which means 1970.
func TestAcquire_IgnoresMalformedItem(t *testing.T) {
	items, a, _ := two(newClock())
	it := store.Item{Key: store.Key{PK: "LEASE", SK: "job"}, Attrs: map[string]varve.Value{
		"holder": varve.StringValue("b"), "token": varve.IntValue(7), "until": varve.IntValue(0),
	}}
	if err := items.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	l := acquire(t, a)
	want(t, "a's check", l.Check(t.Context()), nil)
}
