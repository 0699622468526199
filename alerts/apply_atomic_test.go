package alerts_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
	"pgregory.net/rapid"
)

// atomicStore is a store that executes several writes as one: if one fails, none is applied. Only
// one process may use it.
type atomicStore struct {
	*registrytest.Items
	mu sync.Mutex
}

func (s *atomicStore) Apply(ctx context.Context, changes []store.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var put []store.Item
	var gone []store.Key
	for _, c := range changes {
		if err := s.Failing(c.Item.Key); err != nil {
			return err
		}
		items, err := s.Store.Get(ctx, []store.Key{c.Item.Key}, true)
		if err != nil {
			return err
		}
		var old *store.Item
		if len(items) > 0 {
			old = &items[0]
		}
		for _, cond := range c.Conds {
			if !cond.IsTrue(old) {
				return fmt.Errorf("item %s: %w", c.Item.SK, store.ErrCondition)
			}
		}
		if c.Delete {
			gone = append(gone, c.Item.Key)
		} else {
			put = append(put, c.Item)
		}
	}
	if err := s.PutAll(ctx, put); err != nil {
		return err
	}
	return s.DeleteAll(ctx, gone)
}

// atomically is an option that gives a world an atomicStore.
func atomically(o *alerts.Options) { o.Items = &atomicStore{Items: o.Items.(*registrytest.Items)} }

// twoProcesses returns a world and the processes that write to it. It draws either two processes,
// or one process with an atomicStore.
func twoProcesses(rt *rapid.T, t testing.TB) (*world, []*alerts.Monitor) {
	if rapid.Bool().Draw(rt, "one process") {
		w := newWorld(t, atomically)
		return w, []*alerts.Monitor{w.Monitor}
	}
	w := newWorld(t)
	other, _ := w.process(w.options)
	rt.Cleanup(other.Close)
	return w, []*alerts.Monitor{w.Monitor, other}
}

// TestInterruptedJoin_IsCompletedByResentReading joins more episodes than one write can change, and
// makes a write after the first one fail. Once a reading is resent, from the start or the middle of the
// joined episode, one episode must remain.
func TestInterruptedJoin_IsCompletedByResentReading(t *testing.T) {
	const episodes = 2001
	var apart, between []varve.Reading
	for i := range episodes {
		apart = append(apart, valued(2*i, 9))
		between = append(between, valued(2*i+1, 9))
	}
	for _, nth := range []int{2, 1 + episodes} { // which write of a record fails: the first deletion, or the last write
		for _, again := range []varve.Reading{between[0], between[episodes/2]} {
			w := newWorld(t, atomically)
			w.rule(gapped(5, 0, time.Second))
			w.send(apart...)
			if n := len(w.alerts(alerts.AlertList{Limit: registry.MaxLimit})); n != episodes {
				t.Fatalf("%d alerts", n)
			}
			var hit bool
			w.items.FailWrites(failNthOf(nth, &hit, "RUN#"))
			if v := w.send(between...); !hit || !v[0].Code.Retryable() {
				t.Fatalf("write %d: reached %t, %s", nth, hit, v[0])
			}
			w.send(again)
			if got := w.alerts(alerts.AlertList{Limit: registry.MaxLimit}); len(got) != 1 || !got[0].Since.Equal(noon) {
				t.Errorf("write %d fails, %s is sent again: %d alerts", nth, again.Time, len(got))
			}
		}
	}
}
