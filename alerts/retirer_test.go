package alerts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/store"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

func (w *world) open() int { return len(w.alerts(alerts.AlertList{State: alerts.Open})) }

// TestDeleteRule_ResolvesDeadmanAlerts deletes a rule with alerts of 64 silent devices. These alerts must be
// resolved, and the alert of another rule must stay open.
func TestDeleteRule_ResolvesDeadmanAlerts(t *testing.T) {
	w := newWorld(t)
	for i := range 64 {
		w.registered(fmt.Sprint("d", i))
	}
	r := w.rule(alerts.Rule{ID: "quiet", Kind: alerts.Deadman, For: time.Minute, Severity: alerts.Info})
	w.rule(alerts.Rule{ID: "other", Kind: alerts.Deadman, Device: "d0", For: time.Minute, Severity: alerts.Info})
	w.advance(time.Hour)
	must(t, w.CheckDeadman(t.Context()))
	if n := w.open(); n != 65 {
		t.Fatalf("%d are open", n)
	}
	must(t, w.DeleteRule(t.Context(), tenant, r.ID))
	for _, a := range w.alerts(alerts.AlertList{}) {
		if a.Open() != (a.Rule == "other") || !a.Open() && (a.ResolvedBy != alerts.ByRuleDeleted || !a.ResolvedAt.Equal(w.now())) {
			t.Errorf("%+v", a)
		}
	}
}

// TestRetirement_IsResumedAfterFailure deletes a rule, and makes a different write fail each time.
// ResolveRetired must resolve all alerts, and must delete the item of the rule. It must also resolve alerts
// that a process with outdated rules opens.
func TestRetirement_IsResumedAfterFailure(t *testing.T) {
	for nth := 1; ; nth++ {
		w := newWorld(t)
		r := w.rule(above(5, 0))
		behind, _ := w.process(w.options)
		for i := range 5 {
			one := valued(i, 9)
			one.Device = fmt.Sprint("d", i)
			w.send(one)
		}
		must(t, behind.Observe(t.Context(), w.now(), []varve.Reading{valued(0, 1)}, w.store([]varve.Reading{valued(0, 1)})))
		var hit bool
		w.items.FailWrites(failNthOf(nth, &hit, "RULE#", "ALERT#"))
		err := w.DeleteRule(t.Context(), tenant, r.ID)
		deleted := err == nil
		if deleted {
			late := []varve.Reading{valued(9, 9)}
			must(t, behind.Observe(t.Context(), w.now(), late, w.store(late)))
		}
		for minute := range 8 {
			if err := w.ResolveRetired(t.Context()); err != nil && !hit {
				t.Errorf("minute %d: %v", minute, err)
			}
			w.advance(time.Minute)
		}
		w.items.FailWrites(nil)
		must(t, w.ResolveRetired(t.Context()))
		if n := w.open(); deleted != (n == 0) {
			t.Errorf("call %d fails, deleted: %t: %d are open", nth, deleted, n)
		}
		items, err := w.items.Get(t.Context(), []store.Key{{PK: "TENANT#" + tenant, SK: "RULE#" + r.ID}}, true)
		if err != nil || deleted != (len(items) == 0) {
			t.Errorf("call %d fails, deleted: %t: there is %v, %v", nth, deleted, items, err)
		}
		behind.Close()
		if !hit {
			return
		}
	}
}

// TestEditRule_KeepsAlertsForNewSeverity checks that alerts stay open if only the severity changes.
// If the condition changes, the rule must be evaluated as a new one.
func TestEditRule_KeepsAlertsForNewSeverity(t *testing.T) {
	for _, c := range []struct {
		reason string
		edit   func(*alerts.Rule)
		want   string
	}{
		{"nothing", func(*alerts.Rule) {}, "0-0-"},
		{"severity", func(r *alerts.Rule) { r.Severity = alerts.Info }, "0-0-"},
		{"threshold", func(r *alerts.Rule) { r.Threshold = varve.IntValue(6) }, "0-0- 0-0-changed"},
		{"for", func(r *alerts.Rule) { r.For = time.Second }, "0-0-changed 0-1-"},
		{"gap", func(r *alerts.Rule) { r.Gap = time.Hour }, "0-0- 0-0-changed"},
		{"field", func(r *alerts.Rule) { r.Field = "w" }, "0-0-changed"},
	} {
		w, ctx := newWorld(t), t.Context()
		old := above(5, 0)
		old.ID = "hot"
		made := w.rule(old)
		_, err := w.MuteRule(ctx, tenant, "hot", noon.Add(time.Hour))
		must(t, err)
		w.send(valued(0, 9))
		to := old
		to.Tenant = tenant
		c.edit(&to)
		w.advance(time.Second)
		got, err := w.EditRule(ctx, to)
		must(t, err)
		if !got.CreatedAt.Equal(made.CreatedAt) || !got.UpdatedAt.Equal(w.now()) || got.Severity != to.Severity || !got.MutedUntil.Equal(noon.Add(time.Hour)) {
			t.Errorf("%s: %+v", c.reason, got)
		}
		if read, err := w.Rule(ctx, tenant, "hot"); err != nil || read != got {
			t.Errorf("%s: %+v is read as %+v, %v", c.reason, got, read, err)
		}
		w.send(valued(1, 9))
		if shown := strings.Join(unordered(w.summary()), " "); shown != c.want {
			t.Errorf("%s: %q, want %q", c.reason, shown, c.want)
		}
		for _, a := range w.alerts(alerts.AlertList{}) {
			if a.Severity != alerts.Critical {
				t.Errorf("%s: an alert is %s now", c.reason, a.Severity)
			}
		}
	}
	w := newWorld(t)
	none := above(5, 0)
	none.Tenant, none.ID = tenant, "none"
	if _, err := w.EditRule(t.Context(), none); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("of a rule that is missing: %v", err)
	}
}

// TestEditRule_KeepsMeasuredGap checks that an edit which leaves the condition unchanged does not
// measure the gap.
func TestEditRule_KeepsMeasuredGap(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	r := above(5, 0)
	r.ID = "hot"
	made := w.rule(r)
	w.send(valued(-2, 1), valued(-1, 1))
	w.registered("d")
	r.Tenant, r.Severity = tenant, alerts.Info
	got, err := w.EditRule(ctx, r)
	if err != nil || got.Gap != made.Gap || !got.GapMeasured {
		t.Errorf("%+v %v", got, err)
	}
	r.Threshold = varve.IntValue(7)
	if got, err = w.EditRule(ctx, r); err != nil || got.Gap != 10*time.Second || !got.GapMeasured {
		t.Errorf("with another threshold: %+v %v", got, err)
	}
}

func TestResolveAlerts_ResolvesChoicePageByPage(t *testing.T) {
	for _, c := range []struct {
		reason string
		choice alerts.AlertChoice
		left   []string // rule and device of each alert that stays open
	}{
		{"of a rule", alerts.AlertChoice{Rule: "a"}, []string{"b d0", "b d1", "b d2"}},
		{"of a device", alerts.AlertChoice{Device: "d1"}, []string{"a d0", "a d2", "b d0", "b d2"}},
		{"of a severity", alerts.AlertChoice{Severity: alerts.Info}, []string{"a d0", "a d1", "a d2"}},
		{"of a rule and a device", alerts.AlertChoice{Rule: "b", Device: "d2"}, []string{"a d0", "a d1", "a d2", "b d0", "b d1"}},
		{"of a device and a severity", alerts.AlertChoice{Device: "d1", Severity: alerts.Info}, []string{"a d0", "a d1", "a d2", "b d0", "b d2"}},
		{"all", alerts.AlertChoice{All: true}, nil},
	} {
		w, ctx := newWorld(t), t.Context()
		for id, severity := range map[string]alerts.Severity{"a": alerts.Critical, "b": alerts.Info} {
			r := above(5, 0)
			r.ID, r.Severity = id, severity
			w.rule(r)
		}
		for i := range 3 {
			one := valued(i, 9)
			one.Device = fmt.Sprint("d", i)
			w.send(one)
		}
		c.choice.Tenant, c.choice.Limit = tenant, 1
		n := 0
		for {
			page, err := w.ResolveAlerts(ctx, c.choice)
			must(t, err)
			if n += len(page.Resolved); len(page.Resolved) > 1 {
				t.Errorf("%s: a page of %d", c.reason, len(page.Resolved))
			}
			if c.choice.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		var left []string
		for _, a := range w.alerts(alerts.AlertList{State: alerts.Open}) {
			left = append(left, a.Rule+" "+a.Device)
		}
		if slices.Sort(left); !slices.Equal(left, c.left) || n != 6-len(left) {
			t.Errorf("%s: %d are resolved, open are %q", c.reason, n, left)
		}
	}
}

// TestResolveAlerts_ReportsMissingIDs checks the missing ids of a page. It also checks that an
// empty or contradictory choice is rejected.
func TestResolveAlerts_ReportsMissingIDs(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.rule(above(5, 0))
	w.send(valued(5, 9))
	old := w.alerts(alerts.AlertList{})[0].ID
	w.send(valued(3, 9))
	now := w.alerts(alerts.AlertList{})[0].ID
	page, err := w.ResolveAlerts(ctx, alerts.AlertChoice{Tenant: tenant, IDs: []string{old, "nothing", now}})
	if err != nil || len(page.Resolved) != 1 || page.Resolved[0].ID != now || !slices.Equal(page.Missing, []string{"nothing"}) {
		t.Errorf("%+v %v", page, err)
	}
	for param, c := range map[string]alerts.AlertChoice{"ids": {}, "all": {All: true, Rule: "a"}, "rule": {Rule: "a b"}} {
		_, err := w.ResolveAlerts(ctx, c)
		invalid(t, err, param, "")
	}
}
