package streams_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

// held is a store of items whose reads wait for a gate.
type held struct {
	store.Items
	gets atomic.Int64
	gate chan struct{}
}

func (h *held) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	h.gets.Add(1)
	select {
	case <-h.gate:
		return h.Items.Get(ctx, keys, consistent)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var versionKey = store.Key{PK: "CATALOG", SK: "TABLES"}

// TestCurrent_SharesReads calls Current during a read. All calls must share the next read, and
// see earlier writes. A call whose context ends must fail alone.
func TestCurrent_SharesReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := &held{Items: mem.New(nil), gate: make(chan struct{})}
		r := streams.New(items, newClock().Now)
		version := func(want string) {
			if _, got, err := r.Current(context.Background(), "acme", "weather", versionKey); err != nil || got != want {
				t.Errorf("version %q, %v, want %q", got, err, want)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { version("second") }) // the gate delays its read until the second version is written
		synctest.Wait()
		put := store.Item{Key: versionKey, Attrs: map[string]varve.Value{store.VersionAttr: varve.StringValue("second")}}
		if err := items.Put(t.Context(), put); err != nil {
			t.Fatal(err)
		}
		impatient, cancel := context.WithCancelCause(context.Background())
		gone := errors.New("the client has gone")
		wg.Go(func() {
			if _, _, err := r.Current(impatient, "acme", "weather", versionKey); !errors.Is(err, gone) {
				t.Errorf("who gave up: %v", err)
			}
		})
		synctest.Wait()
		for range 50 {
			wg.Go(func() { version("second") })
		}
		synctest.Wait()
		cancel(gone)
		synctest.Wait()
		close(items.gate)
		wg.Wait()
		if n := items.gets.Load(); n > 4 {
			t.Errorf("%d reads for 52 calls", n)
		}
	})
}
