package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/internal/cache"
)

func TestCache_EvictsLeastRecentlyUsed(t *testing.T) {
	c := cache.New[string, int](cache.Limits{Entries: 2})
	c.Put("a", 1)
	c.Put("b", 2)
	c.Get("a")
	c.Put("c", 3)
	if _, ok := c.Get("b"); ok {
		t.Error("b is cached, although a was used after it")
	}
	if v, ok := c.Get("a"); !ok || v != 1 {
		t.Errorf("a is %d, %v, want 1", v, ok)
	}
}

func TestCache_BoundsSizes(t *testing.T) {
	c := cache.New[string, int](cache.Limits{Size: 10})
	for _, key := range []string{"a", "b", "c", "c"} {
		c.PutSince(c.Drops(), time.Now(), key, 0, 4)
	}
	if n, size := c.Len(); n != 2 || size != 8 {
		t.Errorf("%d entries of size %d, want 2 of size 8", n, size)
	}
	c.PutSince(c.Drops(), time.Now(), "d", 0, 11)
	if n, size := c.Len(); n != 0 || size != 0 {
		t.Errorf("after an entry above the limit: %d entries of size %d, want none", n, size)
	}
}

func TestCache_RemovesOldEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.New[string, int](cache.Limits{Age: time.Minute})
		c.Put("a", 1)
		<-time.After(time.Minute - 1)
		if _, ok := c.Get("a"); !ok {
			t.Error("an entry is missing before its age")
		}
		<-time.After(1)
		if _, ok := c.Get("a"); ok {
			t.Error("an entry serves after its age")
		}
		if n, _ := c.Len(); n != 0 {
			t.Errorf("%d entries remain", n)
		}
	})
}

func TestCache_IgnoresValuesReadBeforeDrop(t *testing.T) {
	for name, drop := range map[string]func(*cache.Cache[string, int]){
		"drop of another key": func(c *cache.Cache[string, int]) { c.Drop("b") },
		"clear":               (*cache.Cache[string, int]).Clear,
	} {
		c := cache.New[string, int](cache.Limits{})
		c.Put("a", 1)
		drops := c.Drops()
		drop(c)
		if c.PutSince(drops, time.Now(), "c", 3, 0) {
			t.Errorf("%s: a value from before the drop is stored", name)
		}
		if _, ok := c.Get("c"); ok {
			t.Errorf("%s: a value from before the drop serves", name)
		}
	}
}

func TestCache_UpdateReplacesOrRemoves(t *testing.T) {
	c := cache.New[string, int](cache.Limits{})
	add := func(v int) (int, bool) { return v + 1, v < 2 }
	for _, want := range []struct {
		value int
		ok    bool
	}{{1, true}, {2, true}, {0, false}} {
		c.Update("a", add)
		if v, ok := c.Get("a"); v != want.value || ok != want.ok {
			t.Errorf("value %d, %v, want %d, %v", v, ok, want.value, want.ok)
		}
	}
}
