package router_test

import (
	"context"
	"errors"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/router"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func (w *world) turn(t *testing.T) *router.Turn {
	t.Helper()
	q, err := w.Admit()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Done)
	return q.Turn()
}

// TestTurn_LargeMakesWayForSmall checks that after a small request, large requests leave one
// processor idle. Small requests must never wait. A waiting request must fail when its context
// ends.
func TestTurn_LargeMakesWayForSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(o *router.Options) { o.Now = time.Now })
		small := w.turn(t)
		begin := func(turn *router.Turn, large bool) {
			t.Helper()
			if err := turn.Begin(t.Context(), large); err != nil {
				t.Fatal(err)
			}
		}
		begin(small, false)
		slots := lanes.Slots()
		running := make([]*router.Turn, slots)
		for i := range running {
			running[i] = w.turn(t)
			begin(running[i], true)
		}
		begin(w.turn(t), false)

		last := w.turn(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if err := last.Begin(ctx, true); !errors.Is(err, gone) {
			t.Fatalf("%d large requests compute, and one more may: %v", slots, err)
		}
		began := make(chan error)
		go func() { began <- last.Begin(t.Context(), true) }()
		synctest.Wait()
		select {
		case err := <-began:
			t.Fatalf("%d large requests compute, and one more may: %v", slots, err)
		default:
		}
		if !running[0].End() {
			t.Fatal("the turn of a large request held no slot")
		}
		if err := <-began; err != nil {
			t.Fatal(err)
		}
	})
}

// TestTurn_LargeUsesAllProcessorsAlone checks that large requests do not wait for each other if
// the last small request was more than a second ago.
func TestTurn_LargeUsesAllProcessorsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(o *router.Options) { o.Now = time.Now })
		if err := w.turn(t).Begin(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second + 1) // takes no real time, because synctest has a fake clock
		for range 4 * runtime.GOMAXPROCS(0) {
			turn := w.turn(t)
			if err := turn.Begin(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			if turn.End() {
				t.Fatal("a large request waited for its slot though no small ones came")
			}
		}
	})
}
