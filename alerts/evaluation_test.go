package alerts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

func (w *world) rule(r alerts.Rule) alerts.Rule {
	w.t.Helper()
	r.Tenant = tenant
	r, _, err := w.AddRule(w.t.Context(), r)
	must(w.t, err)
	return r
}

// above returns a value rule on field v of stream weather.
func above(threshold int64, held time.Duration) alerts.Rule {
	return alerts.Rule{Stream: "weather", Field: "v", Comparison: ">", Threshold: varve.IntValue(threshold), For: held, Severity: alerts.Critical}
}

// gapped returns a value rule on field v of stream weather, with a gap. A gap of 0 means NoGap.
func gapped(threshold int64, held, gap time.Duration) alerts.Rule {
	r := above(threshold, held)
	if r.Gap = gap; gap == 0 {
		r.Gap = alerts.NoGap
	}
	return r
}

func valued(second int, v int64) varve.Reading {
	return reading("d", noon.Add(time.Duration(second)*time.Second), varve.Field{Name: "v", Value: varve.IntValue(v)})
}

func (w *world) alerts(l alerts.AlertList) (all []alerts.Alert) {
	w.t.Helper()
	for l.Tenant = tenant; ; {
		page, err := w.Alerts(w.t.Context(), l)
		must(w.t, err)
		all = append(all, page.Items...)
		if l.Cursor = page.Next; l.Cursor == "" {
			return all
		}
	}
}

// summary returns the alerts of device d as text, the oldest first. Each text has Since, OpenedAt and
// ResolvedAt, in seconds after noon, and shows the reason for the resolution.
func (w *world) summary() string {
	w.t.Helper()
	list := w.alerts(alerts.AlertList{Device: "d", Limit: 2})
	slices.Reverse(list)
	var all []string
	for _, a := range list {
		sec := func(t time.Time) int { return int(t.Sub(noon) / time.Second) }
		text := fmt.Sprintf("%d-%d-", sec(a.Since), sec(a.OpenedAt))
		switch a.ResolvedBy {
		case alerts.ByCondition:
			text += fmt.Sprint(sec(a.ResolvedAt))
		case alerts.ByGap:
			text += fmt.Sprintf("gap%d", sec(a.ResolvedAt))
		case alerts.ByHand:
			text += "hand"
		case alerts.ByRuleDeleted:
			text += "deleted"
		case alerts.ByRuleChanged:
			text += "changed"
		}
		if a.Late {
			text += "L"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// unordered returns the texts of alerts in sorted order. Lists sort alerts with equal times by
// id, which is a hash.
func unordered(shown string) []string { return slices.Sorted(slices.Values(strings.Fields(shown))) }

// TestAlerts_FollowReadingsOfSeries sends readings in steps of one write each, and compares the
// alerts with the expected ones.
func TestAlerts_FollowReadingsOfSeries(t *testing.T) {
	type step = []varve.Reading
	for _, c := range []struct {
		reason string
		held   time.Duration
		steps  []step
		want   string
	}{
		{"opens and resolves", 0, []step{{valued(0, 1)}, {valued(1, 9)}, {valued(2, 9)}, {valued(3, 1)}}, "1-1-3"},
		{"stays open", 0, []step{{valued(1, 9)}, {valued(2, 9)}}, "1-1-"},
		{"the threshold is not above itself", 0, []step{{valued(1, 5)}}, ""},
		{"two of them", 0, []step{{valued(1, 9)}, {valued(2, 1)}, {valued(3, 9)}}, "1-1-2 3-3-"},
		{"a retry raises nothing twice", 0, []step{{valued(1, 9)}, {valued(1, 9)}, {valued(2, 1)}, {valued(1, 9)}, {valued(2, 1)}}, "1-1-2"},
		{"too short", 3 * time.Second, []step{{valued(1, 9)}, {valued(3, 9)}, {valued(4, 1)}}, ""},
		{"long enough", 3 * time.Second, []step{{valued(1, 9)}, {valued(3, 9)}, {valued(4, 9)}, {valued(5, 9)}, {valued(6, 1)}}, "1-4-6"},
		{"all in one write, in any order", 3 * time.Second, []step{{valued(4, 9), valued(6, 1), valued(1, 9), valued(3, 9), valued(0, 1)}}, "1-4-6"},
		{"late: over before it was known", 0, []step{{valued(9, 1)}, {valued(3, 9)}}, "3-3-9"},
		{"late, in one write", 0, []step{{valued(9, 1)}, {valued(3, 9), valued(4, 1)}}, "3-3-4"},
		{"late: begins an episode earlier", 0, []step{{valued(5, 9)}, {valued(3, 9)}}, "3-3-"},
		{"late: cuts an episode in two", 0, []step{{valued(1, 9)}, {valued(5, 9)}, {valued(9, 1)}, {valued(3, 1)}}, "1-1-3 5-5-9"},
		{"late: cuts off too short a piece", 3 * time.Second, []step{{valued(1, 9)}, {valued(5, 9)}, {valued(9, 9)}, {valued(4, 1)}}, "5-9-"},
		{"late: resolves sooner", 0, []step{{valued(1, 9)}, {valued(9, 1)}, {valued(4, 1)}}, "1-1-4"},
		{"late: joins what was too short", 4 * time.Second, []step{{valued(1, 9)}, {valued(2, 1)}, {valued(4, 9)}, {valued(6, 9)}, {valued(7, 1)}, {valued(3, 9)}}, ""},
		{"late: opens sooner", 3 * time.Second, []step{{valued(1, 9)}, {valued(9, 9)}, {valued(5, 9)}}, "1-5-"},
		{"other fields and kinds do not count", 0, []step{
			{valued(1, 9)}, {reading("d", noon.Add(2*time.Second), varve.Field{Name: "w", Value: varve.IntValue(1)})},
			{reading("d", noon.Add(3*time.Second), varve.Field{Name: "v", Value: varve.StringValue("low")})},
		}, "1-1-"},
		{"an hour after it happened", 0, []step{{valued(-7200, 9)}}, "-7200--7200-L"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			w.rule(above(5, c.held))
			for _, s := range c.steps {
				for _, v := range w.send(s...) {
					if v.Code.Retryable() {
						t.Error(v)
					}
				}
			}
			if got := w.summary(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// expected computes the alerts of a rule by brute force. It finds the episodes in all readings, in the
// order of event time.
func expected(readings []varve.Reading, threshold int64, held, gap time.Duration) string {
	var all []string
	var start, opened, last *varve.Reading
	flush := func(end string) {
		if opened != nil {
			all = append(all, fmt.Sprintf("%d-%d-%s", start.Time.Sub(noon)/time.Second, opened.Time.Sub(noon)/time.Second, end))
		}
		start, opened, last = nil, nil, nil
	}
	for i := range readings {
		r := &readings[i]
		if last != nil && gap > 0 && r.Time.Sub(last.Time) > gap {
			flush(fmt.Sprintf("gap%d", int(last.Time.Add(gap).Sub(noon)/time.Second)))
		}
		if r.Field("v").Number().Compare(decimal.FromInt(threshold)) <= 0 {
			flush(fmt.Sprint(int(r.Time.Sub(noon) / time.Second)))
			continue
		}
		last = r
		if start == nil {
			start = r
		}
		if opened == nil && r.Time.Sub(start.Time) >= held {
			opened = r
		}
	}
	flush("")
	return strings.Join(all, " ")
}

// TestShuffledArrivals_EndWithSameAlerts sends readings in any order and in any writes, through one
// process or two. Some are duplicates, and some have other values than the stored ones. Writes to
// the registry fail at random, and rejected readings are resent until they are accepted. In the
// end, the alerts must be the same as if the stored readings had arrived in the order of event time.
func TestShuffledArrivals_EndWithSameAlerts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, processes := twoProcesses(rt, t)
		held := time.Duration(rapid.IntRange(0, 4).Draw(rt, "for")) * time.Second
		gap := time.Duration(rapid.IntRange(0, 5).Draw(rt, "gap")) * time.Second
		w.rule(gapped(5, held, gap))
		scale := rapid.SampledFrom([]int{1, 1, 86400}).Draw(rt, "scale") // a write has parts that are far apart
		var all []varve.Reading
		for range rapid.IntRange(1, 25).Draw(rt, "n") {
			v := rapid.SampledFrom([]int64{1, 2, 8, 9}).Draw(rt, "v")
			of := valued
			if rapid.Bool().Draw(rt, "named") {
				of = named // the id depends only on the second, so values can differ under the same id
			}
			all = append(all, of(scale*rapid.IntRange(0, 20).Draw(rt, "at"), v))
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		failures := rapid.IntRange(0, 30).Draw(rt, "failures")
		w.items.FailWrites(atTimes(rng, failures))
		defer w.items.FailWrites(nil)
		for left := all; len(left) > 0; {
			rng.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
			n := 1 + rng.IntN(min(4, len(left)))
			batch := slices.Clone(left[:n])
			if rng.IntN(3) > 0 {
				batch = append(batch, all[rng.IntN(len(all))])
			}
			to := processes[rng.IntN(len(processes))]
			verdicts := w.store(batch)
			if err := to.Observe(t.Context(), w.now(), batch, verdicts); err != nil {
				rt.Fatal(err)
			}
			var again []varve.Reading
			for i, v := range verdicts {
				if v.Code.Retryable() {
					again = append(again, batch[i])
				}
			}
			left = append(slices.Clone(left[n:]), again...)
		}
		stored := w.readings[all[0].Series]
		if got, want := strings.ReplaceAll(w.summary(), "L", ""), expected(stored, 5, held, gap); !slices.Equal(unordered(got), unordered(want)) {
			rt.Fatalf("for %s, gap %s, of %v:\n got %s\nwant %s", held, gap, shownReadings(stored), got, want)
		}
		ids := map[string]bool{}
		for _, a := range w.alerts(alerts.AlertList{}) {
			if ids[a.ID] || a.Value.Number().Compare(decimal.FromInt(5)) <= 0 {
				rt.Fatalf("%+v", a)
			}
			ids[a.ID] = true
		}
	})
}

// atTimes returns a function that fails about a third of its calls at random, up to a number of
// failures.
func atTimes(rng *rand.Rand, failures int) func(store.Key) error {
	var mu sync.Mutex
	rng = rand.New(rand.NewPCG(rng.Uint64(), 1)) // a generator of its own, because writes are concurrent
	return func(k store.Key) error {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(k.SK, "#") { // last-seen records, which another goroutine writes
			return nil
		}
		if failures > 0 && rng.IntN(3) == 0 {
			failures--
			return registrytest.ErrDisk
		}
		return nil
	}
}

func shownReadings(rs []varve.Reading) (all []string) {
	for i := range rs {
		all = append(all, fmt.Sprintf("%d:%s", rs[i].Time.Sub(noon)/time.Second, rs[i].Field("v")))
	}
	return all
}

// TestConcurrentArrivals_EndWithSameAlerts lets many writers send readings through two processes. In
// the end, the alerts must be the same as if the readings had arrived in the order of event time.
func TestConcurrentArrivals_EndWithSameAlerts(t *testing.T) {
	for round := range 20 {
		w := newWorld(t)
		other, _ := w.process(w.options)
		gap := time.Duration(round%3) * time.Second
		w.rule(gapped(5, time.Second, gap))
		rng := rand.New(rand.NewPCG(uint64(round), 2))
		batches := make([][]varve.Reading, 60)
		for i := range batches {
			for range 1 + rng.IntN(3) {
				batches[i] = append(batches[i], valued(rng.IntN(30), int64(1+rng.IntN(9))))
			}
		}
		var wg sync.WaitGroup
		for i := range batches {
			to := []*alerts.Monitor{w.Monitor, other}[i%2]
			wg.Go(func() {
				for again := true; again; {
					verdicts := w.store(batches[i])
					if err := to.Observe(t.Context(), w.now(), batches[i], verdicts); err != nil {
						t.Error(err)
					}
					again = slices.ContainsFunc(verdicts, func(v varve.Verdict) bool { return v.Code.Retryable() })
				}
			})
		}
		wg.Wait()
		other.Close()
		stored := w.readings[batches[0][0].Series]
		if got, want := strings.ReplaceAll(w.summary(), "L", ""), expected(stored, 5, time.Second, gap); got != want {
			t.Fatalf("round %d, %v:\n got %s\nwant %s", round, shownReadings(stored), got, want)
		}
	}
}
