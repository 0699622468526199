package registry_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

var key = store.Key{PK: "P", SK: "S"}

// addOne returns the next state of an item, with a counter that is one higher.
func addOne(old *store.Item) (*store.Item, error) {
	n := int64(0)
	if old != nil {
		n = registry.Int(old.Attrs["n"])
	}
	return &store.Item{Key: key, Attrs: map[string]varve.Value{"n": varve.IntValue(n + 1)}}, nil
}

func TestUpdate_CountsConcurrentChanges(t *testing.T) {
	u := registry.Updater{Items: registrytest.New(nil)}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := u.Update(t.Context(), key, "counter", addOne); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	it, err := u.Update(t.Context(), key, "counter", func(*store.Item) (*store.Item, error) { return nil, nil })
	if err != nil || registry.Int(it.Attrs["n"]) != 20 || registry.VersionOf(it) != 20 {
		t.Errorf("%+v, %v: want n and version 20", it, err)
	}
}

// TestUpdate_RepeatsChange checks that an update calls its function once more if another write
// adds, changes or deletes the item meanwhile.
func TestUpdate_RepeatsChange(t *testing.T) {
	for _, c := range []struct {
		name    string
		exists  bool
		other   func(*registrytest.Items) error
		n, want int64 // the counter and the version after the update
	}{
		{"added", false, func(s *registrytest.Items) error { return update(t, s) }, 2, 2},
		{"changed", true, func(s *registrytest.Items) error { return update(t, s) }, 3, 3},
		{"deleted", true, func(s *registrytest.Items) error { return s.Delete(t.Context(), key) }, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := registrytest.New(nil)
			if c.exists {
				if err := update(t, s); err != nil {
					t.Fatal(err)
				}
			}
			calls := 0
			it, err := registry.Updater{Items: s}.Update(t.Context(), key, "counter", func(old *store.Item) (*store.Item, error) {
				if calls++; calls == 1 {
					if err := c.other(s); err != nil {
						t.Error(err)
					}
				}
				return addOne(old)
			})
			if err != nil || calls != 2 || registry.Int(it.Attrs["n"]) != c.n || registry.VersionOf(it) != c.want {
				t.Errorf("%d calls, %+v, %v: want n %d and version %d after 2 calls", calls, it, err, c.n, c.want)
			}
		})
	}
}

func update(t *testing.T, s *registrytest.Items) error {
	_, err := registry.Updater{Items: s}.Update(t.Context(), key, "counter", addOne)
	return err
}

// TestUpdate_ComparesLegacyAttribute checks that an item without a version counts as unchanged only
// while the attribute that Updater.Legacy names is unchanged.
func TestUpdate_ComparesLegacyAttribute(t *testing.T) {
	s := registrytest.New(nil)
	old := store.Item{Key: key, Attrs: map[string]varve.Value{"state": varve.StringValue("a")}}
	if err := s.Put(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	calls := 0
	it, err := registry.Updater{Items: s, Legacy: "state"}.Update(t.Context(), key, "state", func(old *store.Item) (*store.Item, error) {
		if calls++; calls == 1 {
			next := store.Item{Key: key, Attrs: map[string]varve.Value{"state": varve.StringValue("b")}}
			if err := s.Put(t.Context(), next); err != nil {
				t.Error(err)
			}
		}
		next := store.Item{Key: key, Attrs: map[string]varve.Value{"state": varve.StringValue(old.Attrs["state"].Text() + "+")}}
		return &next, nil
	})
	if err != nil || it.Attrs["state"].Text() != "b+" || registry.VersionOf(it) != 2 {
		t.Errorf("%+v, %v: want state b+ in version 2", it, err)
	}
}

func TestUpdate_ReturnsErrors(t *testing.T) {
	s := registrytest.New(nil)
	s.FailWrites(registrytest.FailOn("S"))
	if err := update(t, s); !errors.Is(err, registrytest.ErrDisk) || !strings.HasPrefix(err.Error(), "write counter: ") || s.Puts("S") != 1 {
		t.Errorf("%v after %d writes: want one failed write", err, s.Puts("S"))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (registry.Updater{Items: endedItems{s}}).Update(ended, key, "counter", addOne); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "read counter: ") {
		t.Errorf("%v: want a failed read", err)
	}
	own := errors.New("own")
	if _, err := (registry.Updater{Items: s}).Update(t.Context(), key, "counter", func(*store.Item) (*store.Item, error) { return nil, own }); !errors.Is(err, own) {
		t.Errorf("%v: want the error of the change", err)
	}
}

// endedItems fails requests whose context has ended, as a store on a network does.
type endedItems struct{ store.Items }

func (s endedItems) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.Items.Get(ctx, keys, consistent)
}

// TestAll_ReadsEveryPage checks that all items are returned in order for any length of pages. The
// iteration must stop when its caller stops.
func TestAll_ReadsEveryPage(t *testing.T) {
	s := registrytest.New(func() time.Time { return time.Unix(0, 0) })
	const letters = "abcdefghij"
	for _, c := range letters {
		if err := s.Put(t.Context(), store.Item{Key: store.Key{PK: "P", SK: string(c)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{0, 1, 3, 10, 11} {
		var got strings.Builder
		for it, err := range registry.All(t.Context(), s, store.ItemQuery{PK: "P", Limit: limit}) {
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(it.SK)
		}
		if got.String() != letters {
			t.Errorf("pages of %d: %s, want %s", limit, got.String(), letters)
		}
	}
	s.Queries = 0
	for range registry.All(t.Context(), s, store.ItemQuery{PK: "P", Limit: 3}) {
		break
	}
	if s.Queries != 1 {
		t.Errorf("%d queries for the first item, want 1", s.Queries)
	}
	s.Unreadable = registrytest.ErrDisk
	calls := 0
	for it, err := range registry.All(t.Context(), s, store.ItemQuery{PK: "P"}) {
		if calls++; it != nil || !errors.Is(err, registrytest.ErrDisk) {
			t.Errorf("%+v, %v: want the error of the store", it, err)
		}
	}
	if calls != 1 {
		t.Errorf("%d results of a failed query, want 1", calls)
	}
}
