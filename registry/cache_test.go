package registry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/registry"
)

// record is a value that a cache copies. It counts its reads.
type record struct {
	value, reads int
	slow         time.Duration // how long a read takes after it has fetched the value
	err          error
}

func (r *record) read(context.Context) (int, error) {
	r.reads++
	v := r.value
	if r.slow > 0 {
		<-time.After(r.slow)
	}
	return v, r.err
}

func get(t *testing.T, c *registry.Cache[string, int], r *record, want, reads int) {
	t.Helper()
	v, err := c.Get(t.Context(), "k", r.read)
	if err != nil || v != want || r.reads != reads {
		t.Errorf("%d after %d reads, %v: want %d after %d", v, r.reads, err, want, reads)
	}
}

func newCache(o registry.CacheOptions[int]) *registry.Cache[string, int] {
	o.TTL, o.Now = 10*time.Second, time.Now
	return registry.NewCache[string](o)
}

func TestCache_ReadsAgainAfterTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(registry.CacheOptions[int]{}), &record{value: 1}
		get(t, c, r, 1, 1)
		r.value = 2
		<-time.After(10*time.Second - 1)
		get(t, c, r, 1, 1)
		<-time.After(1)
		get(t, c, r, 2, 2)
	})
}

func TestCache_ReadsAgainIfClockWasSetBack(t *testing.T) {
	now := time.Unix(1000, 0)
	c := registry.NewCache[string](registry.CacheOptions[int]{TTL: 10 * time.Second, Now: func() time.Time { return now }})
	r := &record{value: 1}
	get(t, c, r, 1, 1)
	now = now.Add(-1)
	get(t, c, r, 1, 2)
}

func TestCache_DoesNotKeepErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(registry.CacheOptions[int]{}), &record{err: errors.New("no")}
		if _, err := c.Get(t.Context(), "k", r.read); err == nil {
			t.Error("the error is lost")
		}
		r.err, r.value = nil, 1
		get(t, c, r, 1, 2)
	})
}

// TestCache_ForgetsDuringRead calls Forget during a read, for the same key or another one. The caller of
// the read must get its result, but the cache must not store it.
func TestCache_ForgetsDuringRead(t *testing.T) {
	for _, forgotten := range []string{"k", "other"} {
		synctest.Test(t, func(t *testing.T) {
			c, r := newCache(registry.CacheOptions[int]{}), &record{value: 1, slow: time.Second}
			done := make(chan int)
			go func() {
				v, err := c.Get(t.Context(), "k", r.read)
				if err != nil {
					t.Error(err)
				}
				done <- v
			}()
			synctest.Wait()
			r.value = 2
			c.Forget(forgotten)
			if v := <-done; v != 1 {
				t.Errorf("forgot %s: the early caller got %d, want 1", forgotten, v)
			}
			get(t, c, r, 2, 2)
			get(t, c, r, 2, 2)
		})
	}
}

func TestCache_KeepsLastingValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(registry.CacheOptions[int]{Lasting: func(v int) bool { return v == 2 }}), &record{value: 1}
		get(t, c, r, 1, 1)
		<-time.After(time.Hour)
		r.value = 2
		get(t, c, r, 2, 2)
		<-time.After(time.Hour)
		get(t, c, r, 2, 2)
		c.Forget("k")
		get(t, c, r, 2, 3)
	})
}

func TestCache_ClearsWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(registry.CacheOptions[int]{Max: 2})
		for i, key := range []string{"a", "b", "b", "c"} {
			c.Set(key, i)
		}
		for key, want := range map[string]bool{"a": false, "b": false, "c": true} {
			if _, _, ok := c.Lookup(key); ok != want {
				t.Errorf("copy of %s: %t, want %t", key, ok, want)
			}
		}
	})
}

func TestCache_KeepsNewerValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(registry.CacheOptions[int]{Older: func(a, b int) bool { return a < b }})
		for _, v := range []int{2, 1, 3} {
			c.Set("k", v)
			<-time.After(time.Minute)
		}
		c.Set("k", 2)
		if v, age, ok := c.Lookup("k"); !ok || v != 3 || age != time.Minute {
			t.Errorf("%d of %s ago, %t: want 3 of a minute ago", v, age, ok)
		}
	})
}
