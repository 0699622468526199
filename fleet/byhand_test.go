package fleet_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/fleet"
)

// resolve resolves what is open of device d, by hand.
func (w *world) resolve() {
	w.t.Helper()
	for _, a := range w.alerts(fleet.AlertList{Device: "d"}) {
		_, err := w.ResolveAlert(w.t.Context(), tenant, a.ID)
		must(w.t, err)
	}
}

// TestCutAfterResolved: an alert is resolved by hand, and then a late reading
// cuts its run. What opened after it was resolved is open, in whatever order the
// readings come; what had opened before stays resolved.
func TestCutAfterResolved(t *testing.T) {
	for _, c := range []struct {
		reason string
		held   time.Duration
		before []varve.Reading
		after  []varve.Reading // resolving at 60
		want   string
	}{
		{"in order", 0, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(150, 1), valued(200, 9)}, "0-0-hand 200-200-"},
		{"late", 0, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(200, 9), valued(150, 1)}, "0-0-hand 200-200-"},
		{"opened at that moment", 0, []varve.Reading{valued(0, 9), valued(60, 9)}, []varve.Reading{valued(30, 1)}, "0-0-hand 60-60-hand"},
		{"began before, opened later, in order", 9 * time.Second, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(52, 1), valued(55, 9), valued(70, 9)}, "0-50-hand 55-70-"},
		{"began before, opened later, late", 9 * time.Second, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(70, 9), valued(55, 9), valued(52, 1)}, "0-50-hand 55-70-"},
		{"begins earlier than it was known to", 0, []varve.Reading{valued(50, 9)}, []varve.Reading{valued(40, 9)}, "40-40-hand"},
		{"of a device whose clock is ahead, begins earlier", 0, []varve.Reading{valued(500, 9)}, []varve.Reading{valued(400, 9)}, "400-400-hand"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			w.rule(above(5, c.held))
			for _, r := range c.before {
				w.send(r)
			}
			w.advance(time.Minute)
			w.resolve()
			w.advance(time.Hour)
			for _, r := range c.after {
				w.send(r)
			}
			if got := strings.Join(unordered(strings.ReplaceAll(w.shown(), "L", "")), " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// begun is when alerts began and opened, without how they ended.
func begun(shown string) []string {
	list := unordered(shown)
	for i, text := range list {
		list[i] = text[:strings.LastIndex(text, "-")]
	}
	slices.Sort(list)
	return list
}

// TestShuffledAroundResolving: readings come in any order, some before all
// alerts are resolved by hand and some after it. The alerts are in the end those
// of the readings in the order of their time; none that opened after that moment
// is resolved by hand; and unless readings of before that moment come after it,
// all that was so resolved stays so.
func TestShuffledAroundResolving(t *testing.T) {
	const moment = 20 // seconds from noon
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		held := time.Duration(rapid.IntRange(0, 4).Draw(rt, "for")) * time.Second
		w.rule(above(5, held))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		send := func(name string, from, to int) {
			for range rapid.IntRange(1, 15).Draw(rt, name) {
				v := rapid.SampledFrom([]int64{1, 8, 9}).Draw(rt, "v")
				w.send(valued(from+rng.IntN(to-from), v))
			}
		}
		send("before", 0, moment)
		w.advance(moment * time.Second)
		w.resolve()
		resolved := map[string]bool{}
		for _, a := range w.alerts(fleet.AlertList{}) {
			resolved[a.ID] = a.ResolvedBy == fleet.ByHand
		}
		w.advance(time.Minute)
		from := rapid.SampledFrom([]int{10, moment + 1}).Draw(rt, "from")
		send("after", from, 2*moment)
		stored := w.readings[valued(0, 0).Series]
		for _, a := range w.alerts(fleet.AlertList{}) {
			byHand := a.ResolvedBy == fleet.ByHand
			if byHand && a.OpenedAt.After(noon.Add(moment*time.Second)) || from > moment && resolved[a.ID] && !byHand {
				rt.Fatalf("for %s of %v: %+v", held, shownReadings(stored), a)
			}
		}
		if got, want := begun(w.shown()), begun(expected(stored, 5, held)); !slices.Equal(got, want) {
			rt.Fatalf("for %s of %v:\n got %s\nwant %s", held, shownReadings(stored), got, want)
		}
	})
}
