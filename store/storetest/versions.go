package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// testItemsVersions checks that each kind of change gives items a new version, and that an
// unchanged version means unchanged items.
func testItemsVersions(t *testing.T, e *env) {
	s, ok := e.Store.(store.VersionedItems)
	if !ok {
		t.Skip("other processes may change the items of this store")
	}
	item := func(sk string, n int64) store.Item {
		return store.Item{Key: store.Key{PK: "p", SK: sk}, Attrs: map[string]varve.Value{"n": varve.IntValue(n)}}
	}
	put := func(items store.Items, n int64) func() error {
		return func() error { return items.Put(t.Context(), item("prefix-a", n)) }
	}
	changes := []func() error{
		put(e, 1), put(e, 2),
		func() error { return e.PutAll(t.Context(), []store.Item{item("other", 1), item("prefix-b", 1)}) },
		func() error { _, err := e.PutAbsent(t.Context(), []store.Item{item("prefix-c", 1)}); return err },
		func() error { return e.Delete(t.Context(), item("prefix-a", 0).Key) },
		func() error { return e.DeleteAll(t.Context(), []store.Key{item("prefix-c", 0).Key}) },
	}
	if r, ok := e.Store.(store.Reserver); ok {
		changes = append(changes, put(r.Reserve(), 3))
	}
	if a, ok := e.Store.(store.AtomicItems); ok {
		changes = append(changes, func() error { return a.Apply(t.Context(), []store.Change{{Item: item("prefix-d", 1)}}) })
	}
	for i, change := range changes {
		before, ok1 := s.ItemVersion("p", "prefix-z")
		elsewhere, ok2 := s.ItemVersion("q", "prefix-a")
		if err := change(); err != nil {
			t.Fatal(err)
		}
		after, ok3 := s.ItemVersion("p", "prefix")
		if same, ok := s.ItemVersion("q", "prefix-a"); !ok || !ok1 || !ok2 || !ok3 || before == after || same != elsewhere {
			t.Errorf("change %d: version %v became %v, and %v of another partition %v", i, before, after, elsewhere, same)
		}
	}
	testCachedItem(t, e, s)
}

// testCachedItem reads an item twice while other goroutines write it. If its version has not changed
// in between, both copies must be equal.
func testCachedItem(t *testing.T, e *env, s store.VersionedItems) {
	key, ctx := store.Key{PK: "p", SK: "held"}, context.Background()
	read := func() string {
		items, err := e.Get(ctx, []store.Key{key}, true)
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprint(items)
	}
	var written sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		written.Go(func() {
			for n := range int64(200) {
				if err := e.Put(ctx, store.Item{Key: key, Attrs: map[string]varve.Value{"n": varve.IntValue(n)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { written.Wait(); done.Store(true) }()
	for !done.Load() {
		before, ok := s.ItemVersion(key.PK, key.SK)
		held := read()
		if now, same := s.ItemVersion(key.PK, key.SK); !ok || !same || now != before {
			continue
		}
		current := read()
		if now, same := s.ItemVersion(key.PK, key.SK); same && now == before && current != held {
			t.Fatalf("version %v has items %s and %s", before, held, current)
		}
	}
	written.Wait()
}

// testReadingVersions checks that each kind of change gives a new version to the readings of the series,
// or to all items of the registry.
func testReadingVersions(t *testing.T, e *env) {
	s, ok := e.Store.(store.VersionedReadings)
	items, both := e.Store.(store.VersionedItems)
	if !ok || !both {
		t.Skip("other processes may change the readings of this store")
	}
	e.create(t, weekTable())
	at := func(m int) varve.Reading { return reading("a", start.Add(time.Duration(m)*time.Minute), "1") }
	lifecycle, expirer := e.Store.(store.Lifecycle), e.Store.(store.Expirer)
	changes := []struct {
		name string
		do   func() error
	}{
		{"first write", func() error { e.write(t, weekTable(), at(1), at(2)); return nil }},
		{"write in between", func() error { e.write(t, weekTable(), at(4), at(3)); return nil }},
		{"erasure", func() error { e.erase(t, weekTable(), "a", hours(0, 1), start, store.Layout{}); return nil }},
		{"write after the erasure", func() error { e.write(t, weekTable(), at(1)); return nil }},
		{"expiry", func() error {
			n, err := expirer.DeleteExpired(t.Context(), weekTable(), func(varve.Series) time.Time { return start.AddDate(1, 0, 0) }, nil)
			if n == 0 { // a store may skip readings that arrived recently
				e.write(t, weekTable(), at(5))
			}
			return err
		}},
		{"drop", func() error {
			return errors.Join(lifecycle.Retire(t.Context(), weekTable(), start), lifecycle.Drop(t.Context(), weekTable()))
		}},
	}
	for _, c := range changes {
		before, ok1 := s.ReadingVersion(device("a"))
		all, ok2 := items.ItemVersion("p", "s")
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		after, ok3 := s.ReadingVersion(device("a"))
		allAfter, ok4 := items.ItemVersion("p", "s")
		if !ok1 || !ok2 || !ok3 || !ok4 || before == after && all == allAfter {
			t.Errorf("%s: version %v stays %v, and the version of all items is %v", c.name, before, after, allAfter)
		}
		if again, ok := s.ReadingVersion(device("a")); !ok || again != after {
			t.Errorf("%s: version %v became %v without a change", c.name, after, again)
		}
	}
}
