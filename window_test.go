package varve_test

import (
	"cmp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
)

// TestWindow_IsHalfOpen compares Contains and Overlaps with a check of each instant, also for
// empty and reversed windows.
func TestWindow_IsHalfOpen(t *testing.T) {
	at := func(i int) time.Time { return time.Unix(0, int64(i)) }
	gen := rapid.Custom(func(t *rapid.T) [2]int {
		return [2]int{rapid.IntRange(0, 6).Draw(t, "from"), rapid.IntRange(0, 6).Draw(t, "to")}
	})
	checkMany(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		w, v := varve.Window{From: at(a[0]), To: at(a[1])}, varve.Window{From: at(b[0]), To: at(b[1])}
		shared := false
		for i := range 8 {
			inA, inB := a[0] <= i && i < a[1], b[0] <= i && i < b[1]
			if w.Contains(at(i)) != inA {
				t.Fatalf("%v contains %d: %t", a, i, !inA)
			}
			shared = shared || inA && inB
		}
		if w.Overlaps(v) != shared || v.Overlaps(w) != shared {
			t.Fatalf("%v and %v overlap: %t", a, b, !shared)
		}
		if err := w.Validate(); (err == nil) != (a[0] <= a[1]) {
			t.Fatalf("%v: %v", a, err)
		}
	})
}

// TestAllTime_ContainsValidTimes checks that AllTime contains exactly the event times that
// Normalize accepts.
func TestAllTime_ContainsValidTimes(t *testing.T) {
	all := varve.AllTime()
	for _, when := range []time.Time{
		time.Unix(0, -1), time.Unix(0, 0), noon, time.Unix(0, varve.MaxTime-1), time.Unix(0, varve.MaxTime), {},
	} {
		r := varve.Reading{Series: sensor, Time: when, Fields: []varve.Field{field("a", varve.IntValue(1))}}
		if v := r.Normalize(); all.Contains(when) != (v == varve.Verdict{}) {
			t.Errorf("%s is in all time: %t, and is judged %s", when, all.Contains(when), v)
		}
	}
	if err := all.Validate(); err != nil {
		t.Error(err)
	}
}

// TestPosition_OrdersByTimeThenID checks the order of positions, and the position of a reading.
func TestPosition_OrdersByTimeThenID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) varve.Position {
			return varve.Position{Time: rapid.Int64Range(0, 2).Draw(t, name), ID: genID().Draw(t, name+" id")}
		}
		p, q := draw("p"), draw("q")
		want := cmp.Or(cmp.Compare(p.Time, q.Time), p.ID.Compare(q.ID))
		if got := p.Compare(q); got != want || (got == 0) != (p == q) {
			t.Fatalf("Compare(%v, %v) is %d, want %d", p, q, got, want)
		}
	})
	r := reading(t, "a", "1")
	r.Time, r.ID = time.Unix(12, 345), varve.HashID(7)
	if got, want := r.Position(), (varve.Position{Time: 12_000_000_345, ID: varve.HashID(7)}); got != want {
		t.Errorf("position %v, want %v", got, want)
	}
}

// TestLater_BreaksTies checks that exactly one of two different readings is later, in either
// order of the arguments.
func TestLater_BreaksTies(t *testing.T) {
	of := func(event, arrived int64, id uint64) *varve.Reading {
		return &varve.Reading{Time: time.Unix(event, 0), Arrived: time.Unix(arrived, 0), ID: varve.HashID(id)}
	}
	tests := []struct {
		reason     string
		by         varve.By
		last, less *varve.Reading
	}{
		{"the later event", varve.ByEvent, of(2, 1, 0), of(1, 2, 0)},
		{"the later arrival", varve.ByArrival, of(1, 2, 0), of(2, 1, 0)},
		{"one event time: the greater id", varve.ByEvent, of(1, 1, 2), of(1, 2, 1)},
		{"one arrival: the later event", varve.ByArrival, of(2, 1, 1), of(1, 1, 2)},
		{"one of both: the greater id", varve.ByArrival, of(1, 1, 2), of(1, 1, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if !tt.by.Later(tt.last, tt.less) || tt.by.Later(tt.less, tt.last) || tt.by.Later(tt.last, tt.last) {
				t.Errorf("by %s: %t one way, %t the other, %t than itself", tt.by,
					tt.by.Later(tt.last, tt.less), tt.by.Later(tt.less, tt.last), tt.by.Later(tt.last, tt.last))
			}
		})
	}
}
