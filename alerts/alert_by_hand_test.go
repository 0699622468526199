package alerts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
	"pgregory.net/rapid"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

// resolve resolves the open alerts of device d by hand.
func (w *world) resolve() {
	w.t.Helper()
	for _, a := range w.alerts(alerts.AlertList{Device: "d"}) {
		_, err := w.ResolveAlert(w.t.Context(), tenant, a.ID)
		must(w.t, err)
	}
}

// cut is a test case with late readings. The test sends the first readings (before), resolves all
// alerts by hand at second 60, and then sends the other readings (after).
type cut struct {
	reason string
	held   time.Duration
	before []varve.Reading
	after  []varve.Reading
	want   string
}

// cuts are cases in which readings arrive after a resolution by hand. These readings split an episode,
// move its start, or extend it. Only an episode that opened after the resolution has an open alert.
var cuts = []cut{
	{"in order", 0, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(150, 1), valued(200, 9)}, "0-0-hand 200-200-"},
	{"late", 0, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(200, 9), valued(150, 1)}, "0-0-hand 200-200-"},
	{"opened at that moment", 0, []varve.Reading{valued(0, 9), valued(60, 9)}, []varve.Reading{valued(30, 1)}, "0-0-hand 60-60-hand"},
	{"began before, opened later, in order", 9 * time.Second, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(52, 1), valued(55, 9), valued(70, 9)}, "0-50-hand 55-70-"},
	{"began before, opened later, late", 9 * time.Second, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(70, 9), valued(55, 9), valued(52, 1)}, "0-50-hand 55-70-"},
	{"begins earlier than it was known to", 0, []varve.Reading{valued(50, 9)}, []varve.Reading{valued(40, 9)}, "40-40-hand"},
	{"of a device whose clock is ahead, begins earlier", 0, []varve.Reading{valued(500, 9)}, []varve.Reading{valued(400, 9)}, "400-400-hand"},
	{"begins earlier, and has ended", 0, []varve.Reading{valued(50, 9), valued(55, 1)}, []varve.Reading{valued(40, 9)}, "40-40-55"},
	{"three pieces", 0, []varve.Reading{valued(0, 9), valued(20, 9), valued(40, 9)}, []varve.Reading{valued(10, 1), valued(30, 1)}, "0-0-hand 20-20-hand 40-40-hand"},
	{"the first piece is too short", 9 * time.Second, []varve.Reading{valued(0, 9), valued(10, 9), valued(30, 9)}, []varve.Reading{valued(5, 1)}, "10-30-hand"},
	{"it goes on", 0, []varve.Reading{valued(0, 9), valued(50, 9)}, []varve.Reading{valued(30, 1), valued(70, 9)}, "0-0-hand 50-50-hand"},
}

// resolved returns a world in which the first readings of a cut were sent, and their alerts were
// resolved by hand.
func (c *cut) resolved(t *testing.T, change ...func(*alerts.Options)) *world {
	w := newWorld(t, change...)
	w.rule(above(5, c.held))
	for _, r := range c.before {
		w.send(r)
	}
	w.advance(time.Minute)
	w.resolve()
	w.advance(time.Hour)
	return w
}

func (c *cut) check(t *testing.T, w *world, what string) {
	t.Helper()
	if got := strings.Join(unordered(strings.ReplaceAll(w.summary(), "L", "")), " "); got != c.want {
		t.Errorf("%s, %s: %q, want %q", c.reason, what, got, c.want)
	}
}

// TestCut_KeepsResolutionByHand sends the readings of each cut that arrive after the resolution, in the given
// order. The alerts must be the wanted ones.
func TestCut_KeepsResolutionByHand(t *testing.T) {
	for _, c := range cuts {
		w := c.resolved(t)
		for _, r := range c.after {
			w.send(r)
		}
		c.check(t, w, "cut")
	}
}

// TestInterruptedCut_KeepsResolutionByHand repeats each cut, and makes a different write fail each
// time. Rejected readings are resent immediately, or after all others. The alerts must be the wanted ones.
func TestInterruptedCut_KeepsResolutionByHand(t *testing.T) {
	for _, c := range cuts {
		for i := range 4 {
			atOnce, alone := i%2 == 0, i < 2
			for nth, hit := 1, true; hit; nth++ {
				var change []func(*alerts.Options)
				if alone {
					change = append(change, atomically)
				}
				w := c.resolved(t, change...)
				w.items.FailWrites(failNth(nth, &hit))
				for left := slices.Clone(c.after); len(left) > 0; {
					again := w.send(left[0])[0].Code.Retryable()
					switch r := left[0]; {
					case !again:
						left = left[1:]
					case !atOnce:
						left = append(left[1:], r)
					}
				}
				w.items.FailWrites(nil)
				c.check(t, w, fmt.Sprintf("write %d fails, sent again at once: %t", nth, atOnce))
			}
		}
	}
}

// failNth returns a function that makes the nth write of a record or an alert fail, and sets *hit at
// that write.
func failNth(nth int, hit *bool) func(store.Key) error { return failNthOf(nth, hit, "RUN#", "ALERT#") }

// failNthOf returns a function that makes the nth write of an item fail whose sort key has one of the
// prefixes. The function sets *hit at that write.
func failNthOf(nth int, hit *bool, prefixes ...string) func(store.Key) error {
	*hit = false
	var mu sync.Mutex
	return func(k store.Key) error {
		mu.Lock()
		defer mu.Unlock()
		if registrytest.FailOn(prefixes...)(k) != nil {
			if nth--; nth == 0 {
				*hit = true
				return registrytest.ErrDisk
			}
		}
		return nil
	}
}

// begun removes the third part, which is the resolution, from the texts of alerts. It returns the
// texts in sorted order.
func begun(shown string) []string {
	list := unordered(shown)
	for i, text := range list {
		list[i] = text[:strings.LastIndex(text, "-")]
	}
	slices.Sort(list)
	return list
}

// TestShuffledArrivals_KeepResolutionByHand sends some readings before all alerts are resolved by
// hand, and some after that, in random order. Writes to the registry fail at random, and rejected
// readings are resent until they are stored. In the end, three statements must be true:
//
//   - The alerts are the same as if the readings had arrived in the order of event time.
//   - No alert that opened after the resolution is resolved by hand.
//   - Every alert that was resolved by hand stays resolved, even if its episode is split.
func TestShuffledArrivals_KeepResolutionByHand(t *testing.T) {
	const moment = 20 // time of the resolution by hand, in seconds after noon
	rapid.Check(t, func(rt *rapid.T) {
		w, _ := twoProcesses(rt, t)
		held := time.Duration(rapid.IntRange(0, 4).Draw(rt, "for")) * time.Second
		w.rule(above(5, held))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		send := func(name string, from, to int) {
			var all []varve.Reading
			for range rapid.IntRange(1, 15).Draw(rt, name) {
				v := rapid.SampledFrom([]int64{1, 8, 9}).Draw(rt, "v")
				all = append(all, valued(from+rng.IntN(to-from), v))
			}
			w.items.FailWrites(atTimes(rng, rapid.IntRange(0, 20).Draw(rt, "failures")))
			w.sendAll(rng, all)
			w.items.FailWrites(nil)
		}
		send("before", 0, moment)
		w.advance(moment * time.Second)
		w.resolve()
		before, was := alone(w.readings[valued(0, 0).Series]), w.alerts(alerts.AlertList{})
		w.advance(time.Minute)
		from := rapid.SampledFrom([]int{10, moment + 1}).Draw(rt, "from")
		send("after", from, 2*moment)
		stored := w.readings[valued(0, 0).Series]
		after := alone(stored)
		known := func(at time.Time) bool { return before[at.UnixNano()] && after[at.UnixNano()] }
		for _, a := range w.alerts(alerts.AlertList{}) {
			byHand := a.ResolvedBy == alerts.ByHand
			piece := known(a.Since) && known(a.OpenedAt) && slices.ContainsFunc(was, func(b alerts.Alert) bool {
				return b.ResolvedBy == alerts.ByHand && !a.Since.Before(b.Since)
			})
			if byHand && a.OpenedAt.After(noon.Add(moment*time.Second)) || piece && !byHand {
				rt.Fatalf("for %s of %v: %+v", held, shownReadings(stored), a)
			}
		}
		if got, want := begun(w.summary()), begun(expected(stored, 5, held, 0)); !slices.Equal(got, want) {
			rt.Fatalf("for %s of %v:\n got %s\nwant %s", held, shownReadings(stored), got, want)
		}
	})
}

// alone reports, for each event time, whether only one reading has it.
func alone(readings []varve.Reading) map[int64]bool {
	at := map[int64]bool{}
	for i := range readings {
		_, two := at[readings[i].Time.UnixNano()]
		at[readings[i].Time.UnixNano()] = !two
	}
	return at
}

// sendAll sends readings one by one, in random order, and resends rejected ones until all are
// stored.
func (w *world) sendAll(rng *rand.Rand, left []varve.Reading) {
	w.t.Helper()
	for len(left) > 0 {
		i := rng.IntN(len(left))
		if !w.send(left[i])[0].Code.Retryable() {
			left = slices.Delete(left, i, i+1)
		}
	}
}
