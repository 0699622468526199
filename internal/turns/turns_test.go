package turns_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve/internal/turns"
)

// TestPause_GivesSlotToOthers runs a request that waits for an hour, with the only slot. Meanwhile another
// request must get the slot. The first one must continue after the other has ended.
func TestPause_GivesSlotToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := semaphore.NewWeighted(1)
		begin := time.Now()
		var group sync.WaitGroup
		group.Go(func() {
			err := turns.TakeTurn(t.Context(), slots, func(ctx context.Context) error {
				return turns.Pause(ctx, func() error { <-time.After(time.Hour); return nil })
			})
			if took := time.Since(begin); err != nil || took != 2*time.Hour {
				t.Errorf("the waiting request ended after %s: %v", took, err)
			}
		})
		synctest.Wait()
		if err := turns.TakeTurn(t.Context(), slots, func(context.Context) error { <-time.After(2 * time.Hour); return nil }); err != nil || time.Since(begin) != 2*time.Hour {
			t.Errorf("the other request ended after %s: %v", time.Since(begin), err)
		}
		group.Wait()
	})
}

// TestPause_InSeveralGoroutines waits in several goroutines of many reads at the same time. At most as many reads as slots exist may work
// at a time, and all slots must be free at the end.
func TestPause_InSeveralGoroutines(t *testing.T) {
	const limit = 3
	slots, working := semaphore.NewWeighted(limit), atomic.Int64{}
	work := func() {
		if n := working.Add(1); n > limit {
			t.Errorf("%d reads work at the same time, want at most %d", n, limit)
		}
		working.Add(-1)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			var parts sync.WaitGroup
			for range 4 {
				parts.Go(func() {
					err := turns.TakeTurn(t.Context(), slots, func(ctx context.Context) error {
						const pauses = 3
						var waits, met sync.WaitGroup
						met.Add(pauses)
						for range pauses {
							waits.Go(func() {
								if err := turns.Pause(ctx, func() error { met.Done(); met.Wait(); return nil }); err != nil {
									t.Error(err)
								}
							})
						}
						waits.Wait()
						work()
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			parts.Wait()
		})
	}
	group.Wait()
	if !slots.TryAcquire(limit) || slots.TryAcquire(1) {
		t.Error("the number of slots has changed")
	}
}

// TestPause_EndsWithContext cancels a request while it waits for a slot after a pause. It must end with the
// cause, and must not return a slot that it does not have.
func TestPause_EndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, cause := semaphore.NewWeighted(1), errors.New("cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := turns.TakeTurn(ctx, slots, func(ctx context.Context) error {
			return turns.Pause(ctx, func() error {
				if !slots.TryAcquire(1) {
					t.Error("the slot is not free during the pause")
				}
				time.AfterFunc(time.Minute, func() { cancel(cause) })
				return nil
			})
		})
		if !errors.Is(err, cause) {
			t.Errorf("%v, want %v", err, cause)
		}
		if slots.TryAcquire(1) {
			t.Error("the request returned a slot that it did not have")
		}
	})
}

// TestPause_AfterEnd waits in a goroutine that outlives its part. It must not take the slot again.
func TestPause_AfterEnd(t *testing.T) {
	slots, ended := semaphore.NewWeighted(1), make(chan struct{})
	var group sync.WaitGroup
	err := turns.TakeTurn(t.Context(), slots, func(ctx context.Context) error {
		group.Go(func() {
			if err := turns.Pause(ctx, func() error { <-ended; return nil }); err != nil {
				t.Error(err)
			}
		})
		return nil
	})
	close(ended)
	if group.Wait(); err != nil || !slots.TryAcquire(1) {
		t.Errorf("%v, or the slot is not free", err)
	}
}

// TestPause_WithoutTurns waits outside of TakeTurn. The function must run.
func TestPause_WithoutTurns(t *testing.T) {
	want := errors.New("from the function")
	if err := turns.Pause(t.Context(), func() error { return want }); !errors.Is(err, want) {
		t.Error(err)
	}
}
