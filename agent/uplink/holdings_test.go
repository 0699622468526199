package uplink

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/varvedb/varve"
)

// TestHoldings_BoundMemory divides the readings of 1,000 devices and 24 hours into parts. Each hour of each
// device must be in exactly one part, and a part may need at most 4 MiB.
func TestHoldings_BoundMemory(t *testing.T) {
	const devices, hoursOfDay, perHour = 1000, 24, 4
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	covered := map[seriesHour]int{}
	full, largest := 0, uint64(0)
	for parts := []part{everything}; len(parts) > 0; {
		h := &holdings{part: parts[0], excluded: map[seriesHour]bool{}, series: map[seriesName]*hours{}, limit: defaultHeld}
		parts = parts[1:]
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for n := 0; n < hoursOfDay*perHour && !h.isFull(); n++ {
			for d := 0; d < devices && !h.isFull(); d++ {
				h.addDue(&varve.Reading{
					Series: varve.Series{Stream: "s", Device: fmt.Sprint("device-", d)}, Time: begin.Add(time.Duration(n) * time.Hour / perHour),
					ID: varve.HashID(uint64(n)),
				})
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		largest = max(largest, after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))
		if h.size > defaultHeld+1+heldPerHour {
			t.Fatalf("a part has the size %d", h.size)
		}
		if h.isFull() {
			full++
			parts = append(parts, h.divide()...)
			continue
		}
		count := len(covered)
		for name, of := range h.series {
			for start, n := range of.readings {
				if covered[seriesHour{name, start}]++; n != perHour {
					t.Fatalf("%s %d has %d readings", name, start, n)
				}
			}
		}
		if count = len(covered) - count; count > 2048 {
			t.Fatalf("a part has %d hours, want at most 2,048", count)
		}
	}
	t.Logf("%d parts were full; at most %.1f MB", full, float64(largest)/1e6)
	for h, n := range covered {
		if n != 1 {
			t.Fatalf("%v is in %d parts", h, n)
		}
	}
	if len(covered) != devices*hoursOfDay || full == 0 || largest > 4<<20 {
		t.Errorf("%d hours, %d full parts, %d bytes", len(covered), full, largest)
	}
}
