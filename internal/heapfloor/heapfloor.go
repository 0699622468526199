// Package heapfloor makes the garbage collector of a process with little data run less often.
//
// By default, a collection cycle begins when the heap has doubled. A server with a few megabytes of
// live data would then begin a cycle every hundred requests. It would spend a quarter of its time
// in cycles. With a floor, a cycle begins when the heap has doubled and has at least two thirds of
// the size of the floor.
//
// [SetFloor] sets the floor, and returns a function that restores Go's default. Only one floor may
// be set at a time. If the environment has GOGC, or the size of the live heap is unknown, nothing
// changes.
package heapfloor

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// defaultPercent is the growth of the heap, in percent, at which Go begins a cycle, unless GOGC is set.
const defaultPercent = 100

// SetFloor sets the floor in bytes until the returned function is called. If the environment has GOGC,
// SetFloor changes nothing, because the operator has chosen a growth. Only one floor may be set at a
// time. Before the first cycle, the floor has no effect.
func SetFloor(floor uint64) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	t := &tuner{floor: floor}
	t.adjust()
	t.afterCycle()
	return t.stop
}

// tuner adjusts the growth of the heap after each cycle.
type tuner struct {
	floor uint64

	mu      sync.Mutex
	percent int // the growth that this tuner has set, in percent of the live heap; 0 at first
	stopped bool
}

func (t *tuner) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	debug.SetGCPercent(defaultPercent)
}

// afterCycle adjusts the growth after each following cycle until the tuner stops. It uses a finalizer,
// which runs after the cycle that finds its object unused.
func (t *tuner) afterCycle() {
	runtime.SetFinalizer(&struct{ *tuner }{t}, func(s *struct{ *tuner }) {
		if s.adjust() {
			s.afterCycle()
		}
	})
}

// adjust sets the growth for the live heap. It returns false after stop, and if the size of the
// live heap is unknown.
func (t *tuner) adjust() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return false
	}
	if p := percentFor(live[0].Value.Uint64(), t.floor); p != t.percent {
		t.percent = p
		debug.SetGCPercent(p)
	}
	return true
}

// percentFor returns the growth, in percent of the live heap, at which a cycle begins. When the cycle
// begins, the heap has doubled, or its size is between two thirds of the floor and the floor.
//
// The growth is rounded down to a multiple of the default. So it changes rarely, because each change
// stops all goroutines for a moment.
func percentFor(live, floor uint64) int {
	if live == 0 || 2*live >= floor {
		return defaultPercent
	}
	return int((floor - live) * 100 / live / defaultPercent * defaultPercent)
}
