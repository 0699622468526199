package streams_test

import (
	"errors"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

// TestRegister_WidensWindow registers row windows in any order. The recorded row window must be a
// multiple of each of them.
func TestRegister_WidensWindow(t *testing.T) {
	items, c := mem.New(nil), newClock()
	for _, step := range []struct{ noted, want time.Duration }{
		{0, time.Millisecond},
		{time.Second, time.Second},
		{time.Millisecond, time.Second},
		{40 * time.Second, 40 * time.Second},
		{time.Minute, 2 * time.Minute}, // 40 s and 60 s: neither is a multiple of the other
		{time.Second, 2 * time.Minute},
		{time.Hour, time.Hour},
		{0, time.Hour},
	} {
		r := streams.New(items, c.Now) // like a restart with another configuration
		st, err := r.Register(t.Context(), "acme", "weather", "default", step.noted)
		if err != nil || st.Window != step.want {
			t.Errorf("noted %s: %s, %v, want %s", step.noted, st.Window, err, step.want)
		}
		got, err := streams.New(items, c.Now).Get(t.Context(), "acme", "weather", true)
		if err != nil || got.Layout("x").Window() != step.want {
			t.Errorf("noted %s, read %s, %v", step.noted, got.Window, err)
		}
	}
}

// TestSpread_RaisesShards checks that the number of shards only grows, applies to one device, and
// is known to other writers within a minute.
func TestSpread_RaisesShards(t *testing.T) {
	items, c := mem.New(nil), newClock()
	r, writer := streams.New(items, c.Now), streams.New(items, c.Now)
	if _, err := r.Spread(t.Context(), "acme", "weather", "hot", 4); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("of an unknown stream: %v", err)
	}
	shards := func(device string) int {
		st, err := writer.Register(t.Context(), "acme", "weather", "default", 0)
		if err != nil {
			t.Fatal(err)
		}
		return st.Layout(device).Shards
	}
	if n := shards("hot"); n != 0 {
		t.Errorf("%d shards before any were set", n)
	}
	if st, err := r.Spread(t.Context(), "acme", "weather", "hot", 4); err != nil || st.Shards["hot"] != 4 {
		t.Errorf("%+v, %v", st, err)
	}
	c.now = c.now.Add(time.Minute - 1)
	if n := shards("hot"); n != 0 {
		t.Errorf("%d shards before a minute is over, without a read", n)
	}
	c.now = c.now.Add(1)
	if n := shards("hot"); n != 4 {
		t.Errorf("%d shards after a minute", n)
	}
	if n := shards("cool"); n != 0 {
		t.Errorf("%d shards of another device", n)
	}
	for _, n := range []int{-1, 0, 1, 3, store.MaxShards + 1} {
		var e *varve.Error
		if _, err := r.Spread(t.Context(), "acme", "weather", "hot", n); !errors.As(err, &e) || e.Param != "shards" {
			t.Errorf("from 4 to %d: %v", n, err)
		}
	}
	st, err := r.Spread(t.Context(), "acme", "weather", "hot", store.MaxShards)
	if err != nil || st.Layout("hot").Shards != store.MaxShards {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestRegister_UsesMemoryIfRegistryFails makes the registry fail. Writes to registered streams must
// continue.
func TestRegister_UsesMemoryIfRegistryFails(t *testing.T) {
	s, c := mem.New(nil), newClock()
	r := streams.New(s, c.Now)
	note(t, r, "acme", "weather", "default")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(time.Hour)
	note(t, r, "acme", "weather", "default")
	if _, err := r.Register(t.Context(), "acme", "weather", "default", time.Hour); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a wider window: %v", err)
	}
}
