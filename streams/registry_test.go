package streams_test

import (
	"context"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
	"slices"
	"testing"
	"time"
)

type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

// counted counts the calls of Get and Put. If the function "before" is set, it is called first in
// each call.
type counted struct {
	store.Items
	gets, puts int
	before     func(op string)
}

func (c *counted) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	c.gets++
	if c.before != nil {
		c.before("get")
	}
	return c.Items.Get(ctx, keys, consistent)
}

func (c *counted) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	c.puts++
	if c.before != nil {
		c.before("put")
	}
	return c.Items.Put(ctx, it, conds...)
}

func note(t *testing.T, r *streams.Registry, tenant, stream, class string) {
	t.Helper()
	if _, err := r.Register(t.Context(), tenant, stream, class, 0); err != nil {
		t.Fatal(err)
	}
}

func classesOf(ctx context.Context, r *streams.Registry, tenant, stream string, fresh bool) ([]string, error) {
	st, err := r.Get(ctx, tenant, stream, fresh)
	return st.Classes, err
}

func wantClasses(t *testing.T, r *streams.Registry, tenant, stream string, fresh bool, want ...string) {
	t.Helper()
	got, err := classesOf(t.Context(), r, tenant, stream, fresh)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("stream %s of %s is in %v, %v, want %v", stream, tenant, got, err, want)
	}
}

// TestGet_ReturnsAllClasses moves a stream between classes. All registries must return its old
// and new classes, sorted.
func TestGet_ReturnsAllClasses(t *testing.T) {
	items, c := mem.New(nil), newClock()
	r := streams.New(items, c.Now)
	wantClasses(t, r, "acme", "weather", false)
	wantClasses(t, r, "acme", "weather", true)
	note(t, r, "acme", "weather", "short")
	note(t, r, "acme", "weather", "default")
	note(t, r, "acme", "weather", "short")
	wantClasses(t, r, "acme", "weather", false, "default", "short")
	wantClasses(t, r, "acme", "weather", true, "default", "short")

	again := streams.New(items, c.Now)
	wantClasses(t, again, "acme", "weather", false, "default", "short")
	note(t, again, "acme", "weather", "archive")
	wantClasses(t, again, "acme", "weather", false, "archive", "default", "short")
	wantClasses(t, r, "acme", "weather", true, "archive", "default", "short")
}

// TestRegistry_SeparatesTenantsAndNames uses equal names of several tenants, and names that
// contain each other. Each stream must have only its own class.
func TestRegistry_SeparatesTenantsAndNames(t *testing.T) {
	r := streams.New(mem.New(nil), newClock().Now)
	note(t, r, "a", "x", "one")
	note(t, r, "b", "x", "two")
	note(t, r, "a", "x.y", "three")
	note(t, r, "a.x", "y", "four")
	wantClasses(t, r, "a", "x", true, "one")
	wantClasses(t, r, "b", "x", true, "two")
	wantClasses(t, r, "a", "x.y", true, "three")
	wantClasses(t, r, "a.x", "y", true, "four")
	wantClasses(t, r, "a", "y", true)
}

// TestRegister_IsRemembered counts requests. Registering a known stream must cost no request. Registering a
// stream that another process registered must cost one read.
func TestRegister_IsRemembered(t *testing.T) {
	items := &counted{Items: mem.New(nil)}
	r := streams.New(items, newClock().Now)
	note(t, r, "acme", "weather", "default")
	if items.gets != 1 || items.puts != 1 {
		t.Errorf("the first note: %d reads, %d writes", items.gets, items.puts)
	}
	for range 100 {
		note(t, r, "acme", "weather", "default")
	}
	if items.gets != 1 || items.puts != 1 {
		t.Errorf("with 100 more: %d reads, %d writes", items.gets, items.puts)
	}
	other := &counted{Items: items.Items}
	r = streams.New(other, newClock().Now)
	for range 3 {
		note(t, r, "acme", "weather", "default")
	}
	if other.gets != 1 || other.puts != 0 {
		t.Errorf("noted before, by another: %d reads, %d writes", other.gets, other.puts)
	}
}

// TestGet_RefreshesAfterTenSeconds changes a stream in another registry. Fresh reads must see it
// immediately, other reads after ten seconds. Unknown streams must be read each time.
func TestGet_RefreshesAfterTenSeconds(t *testing.T) {
	items, c := mem.New(nil), newClock()
	r, other := streams.New(items, c.Now), streams.New(items, c.Now)
	wantClasses(t, r, "acme", "weather", false)
	note(t, other, "acme", "weather", "one")
	wantClasses(t, r, "acme", "weather", false, "one")
	note(t, other, "acme", "weather", "two")
	c.now = c.now.Add(10*time.Second - 1)
	wantClasses(t, r, "acme", "weather", false, "one")
	wantClasses(t, other, "acme", "weather", false, "one", "two")
	c.now = c.now.Add(1)
	wantClasses(t, r, "acme", "weather", false, "one", "two")

	note(t, other, "acme", "weather", "three")
	wantClasses(t, r, "acme", "weather", true, "one", "three", "two")
	wantClasses(t, r, "acme", "weather", false, "one", "three", "two")

	note(t, other, "acme", "weather", "four")
	c.now = c.now.Add(-time.Hour) // a cached stream must not be used longer if the clock is set back
	wantClasses(t, r, "acme", "weather", false, "four", "one", "three", "two")
}

func TestList_SortsStreamsOfTenant(t *testing.T) {
	c := newClock()
	items := &paged{mem.New(nil)}
	r := streams.New(items, c.Now)
	for _, s := range []string{"b", "a", "c.d", "B", "a-b"} {
		note(t, r, "acme", s, "x")
	}
	note(t, r, "acme", "a", "default")
	note(t, r, "acme-2", "z", "x")
	// Add other items to the tenant's partition. They sort before and after the streams.
	for _, sk := range []string{"DEVICE#a", "STREAM", "STREAM$", "STREAMS#a", "TOKEN#a"} {
		if err := items.Put(t.Context(), store.Item{Key: store.Key{PK: "TENANT#acme", SK: sk}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.List(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range got {
		want := []string{"x"}
		if s.Name == "a" {
			want = []string{"default", "x"}
		}
		if s.Tenant != "acme" || !slices.Equal(s.Classes, want) {
			t.Errorf("got %+v", s)
		}
		names = append(names, s.Name)
	}
	if want := []string{"B", "a", "a-b", "b", "c.d"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if got, err := r.List(t.Context(), "nobody"); err != nil || len(got) != 0 {
		t.Errorf("a tenant without streams has %v, %v", got, err)
	}
}

// paged answers queries two items at a time.
type paged struct{ store.Items }

func (p *paged) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	q.Limit = 2
	return p.Items.Query(ctx, q)
}

// TestExists_ReadsUnknownStreamsOnly checks that the registry is read until a stream is found, and not again
// afterward.
func TestExists_ReadsUnknownStreamsOnly(t *testing.T) {
	items, c := &counted{Items: mem.New(nil)}, newClock()
	r, other := streams.New(items, c.Now), streams.New(items.Items, c.Now)
	expect := func(want bool, gets int) {
		t.Helper()
		before := items.gets
		if ok, err := r.Exists(t.Context(), "acme", "weather"); err != nil || ok != want || items.gets-before != gets {
			t.Errorf("exists %t after %d reads, %v: want %t after %d", ok, items.gets-before, err, want, gets)
		}
	}
	expect(false, 1)
	expect(false, 1)
	note(t, other, "acme", "weather", "default")
	expect(true, 1)
	c.now = c.now.Add(24 * time.Hour)
	expect(true, 0)
}
