package alerts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devices"
)

// again deletes a rule and makes another under its id.
func (w *world) again(old, r alerts.Rule) {
	w.t.Helper()
	must(w.t, w.DeleteRule(w.t.Context(), tenant, old.ID))
	r.ID = old.ID
	w.rule(r)
}

// TestRuleMadeAgain: a rule that is deleted and made again is a new rule. It
// raises its own alerts, whatever became of those of the one before, and leaves
// them alone.
func TestRuleMadeAgain(t *testing.T) {
	other := above(5, 0)
	other.Field = "w"
	for _, c := range []struct {
		reason string
		anew   alerts.Rule
		byHand bool
		then   []varve.Reading
		want   string
	}{
		{"the same, and the condition holds on", above(5, 0), false, []varve.Reading{valued(1, 9)}, "0-0- 0-0-deleted"},
		{"the same, and the old alert was resolved", above(5, 0), true, []varve.Reading{valued(1, 9)}, "0-0- 0-0-hand"},
		{"the same, and the condition holds anew", above(5, 0), true, []varve.Reading{valued(1, 1), valued(2, 9)}, "0-0-hand 2-2-"},
		{"with another threshold", above(50, 0), false, []varve.Reading{valued(1, 9)}, "0-0-deleted"},
		{"with another threshold that is met", above(50, 0), false, []varve.Reading{valued(1, 9), valued(2, 55)}, "0-0-deleted 2-2-"},
		{"of another field", other, false, []varve.Reading{reading("d", noon.Add(time.Second), varve.Field{Name: "w", Value: varve.IntValue(9)})}, "0-0-deleted 1-1-"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			old := w.rule(above(5, 0))
			w.send(valued(0, 9))
			if c.byHand {
				_, err := w.ResolveAlert(t.Context(), tenant, w.alerts(alerts.AlertList{})[0].ID)
				must(t, err)
			}
			w.again(old, c.anew)
			w.send(c.then...)
			if got := strings.Join(unordered(w.shown()), " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestRuleKept: making a rule that is there keeps it, and its alerts.
func TestRuleKept(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, 0))
	w.send(valued(0, 9))
	w.advance(time.Minute)
	w.rule(above(5, 0))
	w.send(valued(1, 9))
	w.send(valued(2, 1))
	if got := w.shown(); got != "0-0-2" {
		t.Error(got)
	}
}

// TestDeadmanMadeAgain: the same holds for silence.
func TestDeadmanMadeAgain(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	_, err := w.Devices.Put(ctx, devices.Device{Tenant: tenant, Device: "d"}, w)
	must(t, err)
	silent := alerts.Rule{Kind: alerts.Deadman, Device: "d", For: 10 * time.Minute, Severity: alerts.Info}
	old := w.rule(silent)
	w.advance(time.Hour)
	must(t, w.CheckDeadman(ctx))
	_, err = w.ResolveAlert(ctx, tenant, w.alerts(alerts.AlertList{})[0].ID)
	must(t, err)
	w.again(old, silent)
	must(t, w.CheckDeadman(ctx))
	if got := strings.Join(unordered(w.minutes()), " "); got != "0-10- 0-10-60" {
		t.Error(got)
	}
}

// TestOldRuleRemembered: a process that still goes by a rule that was deleted
// and made again does no harm to the alerts of the new one.
func TestOldRuleRemembered(t *testing.T) {
	w := newWorld(t)
	behind, _ := w.process(w.options)
	defer behind.Close()
	watch := func(r varve.Reading) {
		t.Helper()
		one := []varve.Reading{r}
		must(t, behind.Observe(t.Context(), w.now(), one, w.store(one)))
	}
	old := w.rule(above(5, 0))
	watch(valued(0, 9))
	w.again(old, above(50, 0))
	w.send(valued(1, 55))
	watch(valued(2, 1))
	watch(valued(3, 9))
	if got, want := strings.Join(unordered(w.shown()), " "), "0-0-deleted 1-1- 3-3-"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.send(valued(4, 1))
	if got, want := strings.Join(unordered(w.shown()), " "), "0-0-deleted 1-1-2 3-3-"; got != want {
		t.Errorf("it ends: %q, want %q", got, want)
	}
}
