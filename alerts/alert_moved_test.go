package alerts_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"pgregory.net/rapid"
)

// TestMovedAlert_LeadsToSuccessor checks that the successor of a replaced alert is read and resolved with the
// id of the replaced one. The successor must have the acknowledgement and the mute of the replaced alert.
func TestMovedAlert_LeadsToSuccessor(t *testing.T) {
	for _, c := range []struct {
		reason       string
		held         time.Duration
		before, then []varve.Reading
		want         int    // start of the alert to which the first id leads, in seconds after noon
		by           string // reason for the resolution of that alert; "" if it is open
		other        bool   // whether that alert lacks the remarks of the first alert, because the first one was withdrawn in between
	}{
		{"it begins earlier", 0, []varve.Reading{valued(5, 9)}, []varve.Reading{valued(3, 9)}, 3, "", false},
		{"earlier, and once more", 0, []varve.Reading{valued(5, 9)}, []varve.Reading{valued(3, 9), valued(1, 9)}, 1, "", false},
		{"it is merged", 0, []varve.Reading{valued(15, 9)}, []varve.Reading{valued(0, 9), valued(8, 9)}, 0, "", false},
		{"it is split", 0, []varve.Reading{valued(0, 9), valued(5, 9)}, []varve.Reading{valued(3, 1)}, 0, alerts.ByCondition, false},
		{"it begins earlier, and is split off again", 0, []varve.Reading{valued(5, 9)}, []varve.Reading{valued(3, 9), valued(4, 1)}, 5, "", false},
		{"its first piece is too short", 3 * time.Second, []varve.Reading{valued(1, 9), valued(5, 9), valued(9, 9)}, []varve.Reading{valued(4, 1)}, 5, "", false},
		{"all pieces are too short", 3 * time.Second, []varve.Reading{valued(1, 9), valued(5, 9)}, []varve.Reading{valued(4, 1)}, 1, alerts.Withdrawn, false},
		{"too short, and long enough again", 3 * time.Second, []varve.Reading{valued(3, 9), valued(6, 9)}, []varve.Reading{valued(5, 1), valued(0, 9), valued(4, 9)}, 0, alerts.ByCondition, true},
		{"it was over, and is again another's", 0, []varve.Reading{valued(5, 9), valued(6, 1)}, []varve.Reading{valued(2, 9)}, 2, alerts.ByCondition, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w, ctx := newWorld(t, atomically), t.Context()
			w.rule(gapped(5, c.held, 10*time.Second))
			w.send(c.before...)
			old := w.alerts(alerts.AlertList{Device: "d"})[0]
			_, err := w.AcknowledgeAlert(ctx, tenant, old.ID, "ann", "on my way")
			must(t, err)
			_, err = w.MuteAlert(ctx, tenant, old.ID, noon.Add(time.Hour))
			must(t, err)
			w.advance(time.Minute)
			for _, r := range c.then {
				w.send(r)
			}
			got, err := w.Alert(ctx, tenant, old.ID)
			if err != nil || !got.Since.Equal(noon.Add(time.Duration(c.want)*time.Second)) || got.ResolvedBy != c.by {
				t.Fatalf("%+v %v", got, err)
			}
			if !c.other && got.Acknowledged != (alerts.Acknowledgement{By: "ann", At: noon, Comment: "on my way"}) || !c.other && !got.MutedUntil.Equal(noon.Add(time.Hour)) {
				t.Errorf("it is acknowledged by %+v, muted until %s", got.Acknowledged, got.MutedUntil)
			}
			listed := slices.ContainsFunc(w.alerts(alerts.AlertList{Device: "d"}), func(a alerts.Alert) bool { return a == got })
			if listed == (c.by == alerts.Withdrawn) {
				t.Errorf("in the list: %t", listed)
			}
			done, err := w.ResolveAlert(ctx, tenant, old.ID)
			if err != nil || done.ID != got.ID || done.Open() {
				t.Errorf("resolved: %+v %v", done, err)
			}
			if c.by == "" && done.ResolvedBy != alerts.ByHand {
				t.Errorf("resolved by %s", done.ResolvedBy)
			}
			if c.by == alerts.Withdrawn && (got.ID != old.ID || !got.ResolvedAt.Equal(noon.Add(time.Minute))) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestAlertIDs_StayValid sends readings in any order, while the registry fails. Each id that was
// once listed must stay valid. It must lead to a listed alert that shares readings with the extent of
// the old alert, if such an alert exists.
func TestAlertIDs_StayValid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, processes := twoProcesses(rt, t)
		held := time.Duration(rapid.IntRange(0, 4).Draw(rt, "for")) * time.Second
		w.rule(gapped(5, held, time.Duration(rapid.IntRange(0, 5).Draw(rt, "gap"))*time.Second))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		w.items.FailWrites(atTimes(rng, rapid.IntRange(0, 20).Draw(rt, "failures")))
		defer w.items.FailWrites(nil)
		shown := map[string]alerts.Alert{}
		for range rapid.IntRange(1, 25).Draw(rt, "n") {
			r := named(rng.IntN(25), rapid.SampledFrom([]int64{1, 8, 9}).Draw(rt, "v"))
			for to := w.Monitor; ; to = processes[rng.IntN(len(processes))] {
				verdicts := w.store([]varve.Reading{r})
				must(t, to.Observe(t.Context(), w.now(), []varve.Reading{r}, verdicts))
				for _, a := range w.alerts(alerts.AlertList{Device: "d"}) {
					shown[a.ID] = a
				}
				for id := range shown {
					if _, err := w.Alert(t.Context(), tenant, id); err != nil {
						rt.Fatalf("%s, which was shown: %v", id, err)
					}
				}
				if !verdicts[0].Code.Retryable() {
					break
				}
			}
		}
		list := w.alerts(alerts.AlertList{Device: "d"})
		slices.Reverse(list)
		for id, old := range shown {
			got, err := w.Alert(t.Context(), tenant, id)
			if err != nil {
				rt.Fatal(err)
			}
			has := func(a alerts.Alert) bool {
				return !a.Since.After(old.OpenedAt) && (a.ResolvedAt.IsZero() || a.ResolvedAt.After(old.Since))
			}
			want := slices.IndexFunc(list, has)
			if want < 0 && got.ResolvedBy != alerts.Withdrawn || want >= 0 && !slices.ContainsFunc(list, func(a alerts.Alert) bool { return a == got && has(a) }) {
				rt.Fatalf("%+v leads to %+v; listed are %+v", old, got, list)
			}
		}
	})
}

// TestLate_IsEqualInAnyOrder sends readings in several orders, in writes of any size, with
// duplicates. Whether an alert is late must not depend on the order.
func TestLate_IsEqualInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var all []varve.Reading
		for range rapid.IntRange(1, 15).Draw(rt, "n") {
			second := rapid.SampledFrom([]int{0, 1, 2, 3, -10, -11, -3599, -3600, -3601, -86400, -86410}).Draw(rt, "at")
			all = append(all, valued(second, rapid.SampledFrom([]int64{1, 9}).Draw(rt, "v")))
		}
		rule := gapped(5, time.Duration(rapid.IntRange(0, 2).Draw(rt, "for"))*time.Second, time.Duration(rapid.IntRange(0, 100).Draw(rt, "gap"))*time.Second)
		var first []string
		for range 4 {
			w := newWorld(t)
			w.rule(rule)
			order := rapid.Permutation(append(slices.Clone(all), all[:len(all)/3]...)).Draw(rt, "order")
			for len(order) > 0 {
				n := rapid.IntRange(1, len(order)).Draw(rt, "write")
				w.send(order[:n]...)
				order = order[n:]
			}
			shown := unordered(w.summary())
			if first == nil {
				first = shown
			}
			if !slices.Equal(shown, first) {
				rt.Fatalf("%s, in another order %s", strings.Join(shown, " "), strings.Join(first, " "))
			}
		}
	})
}
