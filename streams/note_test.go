package streams_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

// TestRegister_MergesConcurrentChange changes an item between a read and a write. Both changes must
// remain.
func TestRegister_MergesConcurrentChange(t *testing.T) {
	s := mem.New(nil)
	items := &counted{Items: s}
	r := streams.New(items, newClock().Now)
	other := streams.New(s, newClock().Now)
	classes := []string{"a", "b", "c"} // another process registers one of them before each write
	items.before = func(op string) {
		if op == "put" && len(classes) > 0 {
			note(t, other, "acme", "weather", classes[0])
			classes = classes[1:]
		}
	}
	note(t, r, "acme", "weather", "mine")
	wantClasses(t, streams.New(s, newClock().Now), "acme", "weather", true, "a", "b", "c", "mine")
	if items.puts != 4 {
		t.Errorf("%d writes, want 4: one more after each of the other's", items.puts)
	}
}

// TestRegister_ConcurrentRegistries registers two streams in five classes with four registries at
// the same time. No class may be lost.
func TestRegister_ConcurrentRegistries(t *testing.T) {
	items, c := mem.New(nil), newClock()
	classes := []string{"a", "b", "c", "d", "e"}
	var wg sync.WaitGroup
	for i := range 4 {
		r := streams.New(items, c.Now)
		for j := range classes {
			for _, stream := range []string{"x", "y"} {
				wg.Go(func() {
					class := classes[(i+j)%len(classes)]
					if _, err := r.Register(context.Background(), "acme", stream, class, 0); err != nil {
						t.Error(err)
					}
					got, err := classesOf(context.Background(), r, "acme", stream, true)
					if err != nil || !slices.Contains(got, class) {
						t.Errorf("stream %s was noted in %s and is in %v, %v", stream, class, got, err)
					}
				})
			}
		}
	}
	wg.Wait()
	r := streams.New(items, c.Now)
	wantClasses(t, r, "acme", "x", true, classes...)
	wantClasses(t, r, "acme", "y", true, classes...)
}

// TestRegistry_MatchesModel compares the results of random calls of several registries with a map.
func TestRegistry_MatchesModel(t *testing.T) {
	name, class := rapid.SampledFrom([]string{"x", "y"}), rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(rt *rapid.T) {
		items, c := mem.New(nil), newClock()
		registries := []*streams.Registry{streams.New(items, c.Now), streams.New(items, c.Now)}
		model := map[[2]string][]string{}
		draw := func() (r *streams.Registry, key [2]string) {
			return registries[rapid.IntRange(0, 1).Draw(rt, "registry")], [2]string{name.Draw(rt, "tenant"), name.Draw(rt, "stream")}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"note": func(rt *rapid.T) {
				r, k := draw()
				cl := class.Draw(rt, "class")
				if _, err := r.Register(context.Background(), k[0], k[1], cl, 0); err != nil {
					rt.Fatal(err)
				}
				if !slices.Contains(model[k], cl) {
					model[k] = slices.Sorted(slices.Values(append(model[k], cl)))
				}
			},
			"ask": func(rt *rapid.T) {
				r, k := draw()
				got, err := classesOf(context.Background(), r, k[0], k[1], true)
				if err != nil || !slices.Equal(got, model[k]) {
					rt.Fatalf("stream %v is in %v, %v, want %v", k, got, err, model[k])
				}
			},
			"reopen": func(*rapid.T) { registries[0] = streams.New(items, c.Now) },
			"wait":   func(*rapid.T) { c.now = c.now.Add(7 * time.Second) },
		})
	})
}

// TestRegistry_ReturnsStoreErrors makes the store fail and ends contexts. Calls must fail, and a
// write that failed must not be remembered.
func TestRegistry_ReturnsStoreErrors(t *testing.T) {
	s := mem.New(nil)
	items := &counted{Items: s}
	r := streams.New(items, newClock().Now)
	ctx, cancel := context.WithCancel(t.Context())
	items.before = func(op string) {
		if op == "put" {
			cancel()
		}
	}
	if _, err := r.Register(ctx, "acme", "weather", "default", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a note given up: %v", err)
	}
	items.before = nil
	wantClasses(t, r, "acme", "weather", false)
	note(t, r, "acme", "weather", "default")
	wantClasses(t, streams.New(s, newClock().Now), "acme", "weather", true, "default")

	bad := store.Item{Key: store.Key{PK: "TENANT#acme", SK: "STREAM#bad"}, Attrs: map[string]varve.Value{"classes": varve.StringValue("x")}}
	if err := s.Put(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	if got, err := classesOf(t.Context(), r, "acme", "bad", true); err == nil {
		t.Errorf("an item that is not a registry's is read as %v", got)
	}
	if _, err := r.Register(t.Context(), "acme", "bad", "x", 0); err == nil {
		t.Error("an item that is not a registry's is written over")
	}
	if got, err := r.List(t.Context(), "acme"); err == nil {
		t.Errorf("an item that is not a registry's is listed in %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register(t.Context(), "acme", "weather", "new", 0); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a note after the store's end: %v", err)
	}
	if _, err := r.Get(t.Context(), "acme", "weather", true); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a question after the store's end: %v", err)
	}
	if _, err := r.List(t.Context(), "acme"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a list after the store's end: %v", err)
	}
}
