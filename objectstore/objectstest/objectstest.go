// Package objectstest checks implementations of objectstore.Store.
//
// [Run] checks that an empty store follows the contract: objects are whole, are never replaced, and
// are read, listed and deleted as written. If the store breaks a rule, the test fails. Afterward,
// the store may have objects, so each run needs a store of its own.
package objectstest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve/objectstore"
)

// Run checks an object store, which must be empty.
func Run(t *testing.T, o objectstore.Store) {
	ctx := t.Context()
	const key = "a/class=default/month=2026-03/manifest.json"
	if _, err := o.Get(ctx, key, 0, -1); !errors.Is(err, objectstore.ErrMissing) {
		t.Errorf("get of a missing object: %v", err)
	}
	if _, err := o.Stat(ctx, key); !errors.Is(err, objectstore.ErrMissing) {
		t.Errorf("stat of a missing object: %v", err)
	}
	if err := o.Delete(ctx, key); err != nil {
		t.Errorf("delete of a missing object: %v", err)
	}
	body := []byte(strings.Repeat("0123456789", 1000))
	if err := o.PutNew(ctx, key, body); err != nil {
		t.Fatal(err)
	}
	if err := o.PutNew(ctx, key, []byte("other")); !errors.Is(err, objectstore.ErrExists) {
		t.Errorf("second put: %v, want ErrExists", err)
	}
	for _, c := range []struct{ offset, length, from, to int64 }{{0, -1, 0, 10000}, {0, 1, 0, 1}, {9992, 8, 9992, 10000}, {5000, -1, 5000, 10000}} {
		got, err := o.Get(ctx, key, c.offset, c.length)
		if err != nil || string(got) != string(body[c.from:c.to]) {
			t.Errorf("get %d bytes at %d: %d bytes, %v", c.length, c.offset, len(got), err)
		}
	}
	for _, c := range []struct{ offset, length int64 }{{9999, 2}, {10001, -1}, {20000, 1}, {0, 1 << 60}, {-1 << 60, 1 << 60}} {
		if got, err := o.Get(ctx, key, c.offset, c.length); err == nil {
			t.Errorf("get %d bytes at %d: %d bytes of 10000, and no error", c.length, c.offset, len(got))
		}
	}
	if s, err := o.Stat(ctx, key); err != nil || s.Size != 10000 || s.SHA256 != objectstore.SumOf(body) {
		t.Errorf("stat: %+v, %v", s, err)
	}
	testList(t, o, key)
	testRace(t, o)
	if err := o.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Get(ctx, key, 0, -1); !errors.Is(err, objectstore.ErrMissing) {
		t.Errorf("get of a deleted object: %v", err)
	}
}

func testList(t *testing.T, o objectstore.Store, key string) {
	ctx := t.Context()
	for _, other := range []string{"a/class=default/month=2026-03/part", "a/class=default/month=2026-04/part", "ab/part"} {
		if err := o.PutNew(ctx, other, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]int{"a/class=default/month=2026-03/": 2, "a/": 3, "": 4, "b/": 0, "a/class=default/month=2026-03/p": 1} {
		var keys []string
		err := o.List(ctx, prefix, func(o objectstore.Object) error {
			keys = append(keys, o.Key)
			return nil
		})
		if err != nil || len(keys) != want {
			t.Errorf("list %q: %q, %v, want %d", prefix, keys, err, want)
		}
		if prefix == "a/" && !slices.Contains(keys, key) {
			t.Errorf("list %q lacks %q", prefix, key)
		}
	}
}

// testRace checks that exactly one of several concurrent writers of a key succeeds.
func testRace(t *testing.T, o objectstore.Store) {
	const writers = 8
	won := make([]bool, writers)
	var g errgroup.Group
	for i := range writers {
		g.Go(func() error {
			err := o.PutNew(t.Context(), "race/object", []byte{byte(i)})
			if errors.Is(err, objectstore.ErrExists) {
				return nil
			}
			won[i] = err == nil
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	got, err := o.Get(t.Context(), "race/object", 0, -1)
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range won {
		if won[i] != (byte(i) == got[0]) {
			t.Errorf("writer %d won: %t, and the object is of writer %d", i, won[i], got[0])
		}
	}
}
