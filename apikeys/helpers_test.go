package apikeys_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// watched counts the calls of Get, and can block or fail calls of Get and Put.
type watched struct {
	store.Items
	mu   sync.Mutex
	gets int
	get  func(found []store.Item) error // called after a read, before the result is returned
	put  func() error
}

func (w *watched) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if !consistent {
		return nil, errors.New("a key is read that may have been changed")
	}
	found, err := w.Items.Get(ctx, keys, consistent)
	w.mu.Lock()
	w.gets++
	hook := w.get
	w.mu.Unlock()
	if hook != nil && err == nil {
		err = hook(found)
	}
	return found, err
}

func (w *watched) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	w.mu.Lock()
	hook := w.put
	w.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return err
		}
	}
	return w.Items.Put(ctx, it, conds...)
}

func (w *watched) onGet(hook func([]store.Item) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.get = hook
}

func (w *watched) reads() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gets
}

// world is a store, a clock, and a registry of one process.
type world struct {
	*apikeys.Registry
	t     *testing.T
	clock *clock
	items *watched
}

func newWorld(t *testing.T) *world {
	c := newClock()
	w := &watched{Items: mem.New(c.Now)}
	return &world{Registry: apikeys.New(w, c.Now), t: t, clock: c, items: w}
}

// other returns the registry of another process on the same store.
func (w *world) other() *world {
	return &world{Registry: apikeys.New(w.items, w.clock.Now), t: w.t, clock: w.clock, items: w.items}
}

// create creates a key. The first key must be an admin key.
func (w *world) create(d apikeys.Draft) (apikeys.Key, string) {
	w.t.Helper()
	k, text, err := w.Create(w.t.Context(), d)
	if err != nil {
		w.t.Fatal(err)
	}
	return k, text
}

func (w *world) admin() (apikeys.Key, string) {
	w.t.Helper()
	return w.create(apikeys.Draft{Name: "first", Scopes: apikeys.Admin})
}

// allowed reports whether a text is a valid key; any error but ErrNone fails the test.
func (w *world) allowed(text string) bool {
	w.t.Helper()
	g, err := w.Check(w.t.Context(), text)
	if err != nil && !errors.Is(err, apikeys.ErrNone) {
		w.t.Fatal(err)
	}
	return g != nil
}

func (w *world) revoke(id string) {
	w.t.Helper()
	if _, err := w.Revoke(w.t.Context(), "", id); err != nil {
		w.t.Fatal(err)
	}
}

// invalid expects an Invalid error about a parameter, whose message contains the last argument.
func invalid(t *testing.T, err error, param, says string) {
	t.Helper()
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param != param || !strings.Contains(e.Message, says) {
		t.Errorf("%v: want it to be invalid, parameter %s, %q", err, param, says)
	}
}
