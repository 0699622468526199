package alerts

import (
	"fmt"
	"strings"
	"testing"
)

// text formats the parts in days. A part has the number of its first and its last day, "?" if the
// condition may hold for the first reading, and "●" or "○" if all readings agree.
func (w writes) text() string {
	var all []string
	for i := range w {
		one := fmt.Sprintf("%d-%d", w[i].lo.Time/int64(farApart), w[i].hi.Time/int64(farApart))
		for _, c := range []struct {
			is   bool
			text string
		}{{w[i].mayHold, "?"}, {w[i].holds, "●"}, {w[i].fails, "○"}} {
			if c.is {
				one += c.text
			}
		}
		all = append(all, one)
	}
	return strings.Join(all, " ")
}

func TestWrites_HaveDistantParts(t *testing.T) {
	const day = int(farApart / 1e9)
	type reading struct {
		at             int
		mayHold, fails bool
	}
	for _, c := range []struct {
		reason string
		add    []reading
		want   string
	}{
		{"one", []reading{{day, true, false}}, "1-1?●"},
		{"neither", []reading{{day, false, false}}, ""},
		{"near", []reading{{day, true, false}, {2*day - 1, true, false}}, "1-1?●"},
		{"distant", []reading{{day, true, false}, {2 * day, false, true}}, "1-1?● 2-2○"},
		{"distant, in any order", []reading{{9 * day, true, false}, {day, false, true}, {5 * day, false, true}}, "1-1○ 5-5○ 9-9?●"},
		{"a reading joins two parts", []reading{{day, true, false}, {5*day/2 + 1, false, true}, {7 * day / 4, true, false}}, "1-2?"},
		{"an earlier reading of a part", []reading{{day + 9, false, true}, {day, true, false}}, "1-1?"},
		{"a correction", []reading{{day, false, true}, {day, true, true}}, "1-1?"},
	} {
		var w writes
		for _, r := range c.add {
			w.add(second(r.at), r.mayHold, r.fails)
		}
		if got := w.text(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestWrites_JoinClosestParts adds more distant readings than a write may have parts. The closest parts
// must be joined.
func TestWrites_JoinClosestParts(t *testing.T) {
	const day = int(farApart / 1e9)
	var w writes
	for _, at := range []int{1, 10, 20, 30, 33, 40, 50, 60, 70, 72} {
		w.add(second(at*day), true, false)
	}
	if got, want := w.text(), "1-1?● 10-10?● 20-20?● 30-33?● 40-40?● 50-50?● 60-60?● 70-72?●"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
