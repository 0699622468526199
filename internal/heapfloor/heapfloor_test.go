package heapfloor

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestPercentFor_RespectsFloor(t *testing.T) {
	for _, c := range []struct {
		live, floor uint64
		want        int
	}{{0, 64, 100}, {1, 64, 6300}, {5, 64, 1100}, {31, 64, 100}, {32, 64, 100}, {500, 64, 100}} {
		if got := percentFor(c.live, c.floor); got != c.want {
			t.Errorf("live %d, floor %d: got %d, want %d", c.live, c.floor, got, c.want)
		}
	}
}

var sink []byte

// cyclesFor returns the number of garbage collections while a process allocates 64 MiB, and uses only
// a little of it at a time.
func cyclesFor() uint64 {
	count := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	runtime.GC()
	runtime.GC() // the second cycle runs after the finalizers of the first cycle
	begin := count()
	for range 1 << 10 {
		sink = make([]byte, 64<<10)
	}
	return count() - begin
}

// TestSetFloor_DelaysCycles counts cycles with a floor and after its removal. The floor must reduce them.
// If GOGC is set, SetFloor must not change the growth.
func TestSetFloor_DelaysCycles(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(defaultPercent)
	defer debug.SetGCPercent(before)
	stop := SetFloor(256 << 20)
	with := cyclesFor()
	stop()
	if without := cyclesFor(); with > 1 || without <= with {
		t.Errorf("%d cycles with a floor, %d without", with, without)
	}
	t.Setenv("GOGC", "50")
	debug.SetGCPercent(50)
	SetFloor(256 << 20)()
	if p := debug.SetGCPercent(defaultPercent); p != 50 {
		t.Errorf("the percentage of the operator became %d", p)
	}
}
