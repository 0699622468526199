package alerts_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

func TestGap_EndsEpisodeInAnyOrder(t *testing.T) {
	for _, c := range []struct {
		reason string
		held   time.Duration
		sent   []varve.Reading
		want   string
	}{
		{"not longer than the gap", 0, []varve.Reading{valued(0, 9), valued(10, 9)}, "0-0-"},
		{"longer", 0, []varve.Reading{valued(0, 9), valued(11, 9)}, "0-0-gap10 11-11-"},
		{"longer, the later one first", 0, []varve.Reading{valued(11, 9), valued(0, 9)}, "0-0-gap10 11-11-"},
		{"a reading comes into the gap", 0, []varve.Reading{valued(0, 9), valued(11, 9), valued(5, 9)}, "0-0-"},
		{"one for which it fails comes into the gap", 0, []varve.Reading{valued(0, 9), valued(20, 9), valued(5, 1)}, "0-0-5 20-20-"},
		{"one for which it fails, after the gap", 0, []varve.Reading{valued(0, 9), valued(20, 9), valued(15, 1)}, "0-0-gap10 20-20-"},
		{"it ends after a gap", 0, []varve.Reading{valued(0, 9), valued(20, 1)}, "0-0-gap10"},
		{"silence alone ends nothing", 0, []varve.Reading{valued(-7200, 9)}, "-7200--7200-L"},
		{"a year before", 0, []varve.Reading{valued(0, 9), valued(1, 1), valued(-365*86400, 9)}, "-31536000--31536000-gap-31535990L 0-0-1"},
		{"too short on either side", 15 * time.Second, []varve.Reading{valued(0, 9), valued(10, 9), valued(21, 9), valued(31, 9)}, ""},
		{"long enough with one in between", 15 * time.Second, []varve.Reading{valued(0, 9), valued(10, 9), valued(21, 9), valued(15, 9)}, "0-15-"},
		{"several, in one order", 0, []varve.Reading{valued(0, 9), valued(30, 9), valued(60, 9), valued(35, 9)}, "0-0-gap10 30-30-gap45 60-60-"},
	} {
		w := newWorld(t)
		w.rule(gapped(5, c.held, 10*time.Second))
		for _, r := range c.sent {
			w.send(r)
		}
		if got := w.summary(); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
		once := newWorld(t)
		once.rule(gapped(5, c.held, 10*time.Second))
		if once.send(c.sent...); once.summary() != c.want {
			t.Errorf("%s, in one write: %q, want %q", c.reason, once.summary(), c.want)
		}
	}
}

// TestGapMeter_TakesTenMedianIntervals checks the measured gap. The gap must not change if the
// rule is added once more.
func TestGapMeter_TakesTenMedianIntervals(t *testing.T) {
	every := func(seconds, n int) (all []varve.Reading) {
		for i := range n {
			all = append(all, valued(-seconds*i, 1))
		}
		return all
	}
	for _, c := range []struct {
		reason string
		stored []varve.Reading
		want   time.Duration
	}{
		{"nothing is stored", nil, alerts.DefaultGap},
		{"one reading", every(1, 1), alerts.DefaultGap},
		{"every minute", every(60, 30), 10 * time.Minute},
		{"every minute, but for an hour", append(every(60, 12), valued(-7200, 1)), 10 * time.Minute},
		{"long ago", []varve.Reading{valued(-90*86400, 1), valued(-90*86400+1, 1)}, alerts.DefaultGap},
		{"three times a second", []varve.Reading{valued(0, 1), reading("d", noon.Add(333*time.Millisecond), varve.Field{Name: "v", Value: varve.IntValue(1)})}, 4 * time.Second},
	} {
		w := newWorld(t)
		w.send(c.stored...)
		w.registered("d")
		for _, of := range []func(*alerts.Rule){func(*alerts.Rule) {}, func(r *alerts.Rule) { r.Device = "d" }, func(r *alerts.Rule) { r.Device, r.Stream = "d", "" }} {
			rule := above(5, 0)
			of(&rule)
			made := w.rule(rule)
			if made.Gap != c.want || !made.GapMeasured {
				t.Errorf("%s: %s, measured: %t", c.reason, made.Gap, made.GapMeasured)
			}
			w.send(every(1, 200)...)
			if again := w.rule(rule); again != made {
				t.Errorf("%s: made again, %+v is %+v", c.reason, made, again)
			}
			clear(w.readings)
			w.store(c.stored)
		}
	}
}

func (w *world) registered(device string) {
	w.t.Helper()
	_, err := w.Devices.Put(w.t.Context(), devices.Device{Tenant: tenant, Device: device}, w)
	must(w.t, err)
}

func TestAddRule_RejectsInvalidGaps(t *testing.T) {
	w := newWorld(t)
	for _, gap := range []time.Duration{-2, time.Millisecond, 6 * 365 * 24 * time.Hour} {
		r := above(5, 0)
		r.Tenant, r.Gap = tenant, gap
		_, _, err := w.AddRule(t.Context(), r)
		invalid(t, err, "gap", "is not from 1s to 5y: use such a duration, or none")
	}
	_, _, err := w.AddRule(t.Context(), alerts.Rule{Tenant: tenant, Kind: alerts.Deadman, For: time.Hour, Gap: time.Hour, Severity: alerts.Info})
	invalid(t, err, "gap", "a deadman rule has no gap")
}

// TestInterruptedJoin_StopsAtUnrecordedEnd joins episodes with a late reading. The reading that ends
// the last episode was stored but not evaluated, so the record of the episode lacks it. The readings
// after it must be an episode of their own, whichever write fails.
func TestInterruptedJoin_StopsAtUnrecordedEnd(t *testing.T) {
	for _, change := range [][]func(*alerts.Options){{atomically}, nil} {
		for nth, hit := 1, true; hit; nth++ {
			w := newWorld(t, change...)
			w.rule(gapped(5, 0, 2*time.Second))
			w.send(valued(6, 9), valued(9, 9))
			w.items.FailWrites(registrytest.FailOn("RUN#"))
			refused := []varve.Reading{valued(10, 1), valued(8, 9)}
			for _, r := range refused {
				if v := w.send(r); !v[0].Code.Retryable() {
					t.Fatalf("%s: %s", r.Time, v[0])
				}
			}
			if v := w.send(valued(11, 9)); v[0].Code.Retryable() {
				t.Fatal(v[0])
			}
			w.items.FailWrites(failNth(nth, &hit))
			for _, r := range append([]varve.Reading{valued(4, 9)}, refused...) {
				for w.send(r)[0].Code.Retryable() {
				}
			}
			if got := w.summary(); got != "4-4-10 11-11-" {
				t.Errorf("one process: %t, write %d fails: %s", change != nil, nth, got)
			}
		}
	}
}

// TestInterruptedEndByGap_IsCompleted checks that a reading after a gap begins an episode and ends
// the previous one, whichever write fails.
func TestInterruptedEndByGap_IsCompleted(t *testing.T) {
	for _, change := range [][]func(*alerts.Options){{atomically}, nil} {
		for nth, hit := 1, true; hit; nth++ {
			w := newWorld(t, change...)
			w.rule(gapped(5, 0, time.Second))
			w.send(valued(0, 9))
			w.items.FailWrites(failNth(nth, &hit))
			for w.send(valued(2, 9))[0].Code.Retryable() {
			}
			if got := w.summary(); got != "0-0-gap1 2-2-" {
				t.Errorf("one process: %t, write %d fails: %s", change != nil, nth, got)
			}
		}
	}
}
