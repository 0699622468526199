package alerts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devices"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

func (w *world) recreate(old, r alerts.Rule) {
	w.t.Helper()
	must(w.t, w.DeleteRule(w.t.Context(), tenant, old.ID))
	r.ID = old.ID
	w.rule(r)
}

// TestRecreatedRule_OpensItsOwnAlerts checks that a rule does not change the alerts of a deleted
// rule with the same id.
func TestRecreatedRule_OpensItsOwnAlerts(t *testing.T) {
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
			w.recreate(old, c.anew)
			w.send(c.then...)
			if got := strings.Join(unordered(w.summary()), " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestAddRule_KeepsExistingRuleAndAlerts(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, 0))
	w.send(valued(0, 9))
	w.advance(time.Minute)
	w.rule(above(5, 0))
	w.send(valued(1, 9))
	w.send(valued(2, 1))
	if got := w.summary(); got != "0-0-2" {
		t.Error(got)
	}
}

func TestRecreatedDeadmanRule_OpensItsOwnAlerts(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	_, err := w.Devices.Put(ctx, devices.Device{Tenant: tenant, Device: "d"}, w)
	must(t, err)
	silent := alerts.Rule{Kind: alerts.Deadman, Device: "d", For: 10 * time.Minute, Severity: alerts.Info}
	old := w.rule(silent)
	w.advance(time.Hour)
	must(t, w.CheckDeadman(ctx))
	_, err = w.ResolveAlert(ctx, tenant, w.alerts(alerts.AlertList{})[0].ID)
	must(t, err)
	w.recreate(old, silent)
	must(t, w.CheckDeadman(ctx))
	if got := strings.Join(unordered(w.minutes()), " "); got != "0-10- 0-10-60" {
		t.Error(got)
	}
}

// TestRecreatedRule_KeepsAlertsFromOutdatedProcess checks that a process that still evaluates the
// deleted rule does not change the alerts of the new one.
func TestRecreatedRule_KeepsAlertsFromOutdatedProcess(t *testing.T) {
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
	w.recreate(old, above(50, 0))
	w.send(valued(1, 55))
	watch(valued(2, 1))
	watch(valued(3, 9))
	if got, want := strings.Join(unordered(w.summary()), " "), "0-0-deleted 1-1- 3-3-"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.send(valued(4, 1))
	if got, want := strings.Join(unordered(w.summary()), " "), "0-0-deleted 1-1-2 3-3-"; got != want {
		t.Errorf("it ends: %q, want %q", got, want)
	}
}
