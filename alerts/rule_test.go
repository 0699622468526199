package alerts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/registry/registrytest"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

// TestRules_ListEachRuleOnce covers adding a rule twice, conflicts, other tenants and deletion.
func TestRules_ListEachRuleOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	first := w.rule(above(5, time.Minute))
	_, outcome, err := w.AddRule(ctx, first)
	if err != nil || outcome != varve.Duplicate {
		t.Errorf("made again: %s, %v", outcome, err)
	}
	named := above(5, 0)
	named.ID = "hot"
	w.rule(named)
	named.Tenant, named.Severity = tenant, alerts.Info
	if _, _, err := w.AddRule(ctx, named); varve.FailureOf(err) != varve.Conflict {
		t.Errorf("another of that id: %v", err)
	}
	list, err := w.Rules(ctx, tenant)
	if err != nil || len(list) != 2 || list[0].ID != "hot" || list[1] != first || list[0].CreatedAt != noon {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := w.Rules(ctx, "other"); err != nil || len(list) != 0 {
		t.Errorf("another tenant has %v, %v", list, err)
	}
	must(t, w.DeleteRule(ctx, tenant, "hot"))
	if err := w.DeleteRule(ctx, tenant, "hot"); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := w.Rule(ctx, tenant, "hot"); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("read after deletion: %v", err)
	}
}

// TestRuleID_DependsOnContent checks that rules that differ in any parameter have different ids.
func TestRuleID_DependsOnContent(t *testing.T) {
	w := newWorld(t)
	of := map[string]int{}
	for i, change := range []func(*alerts.Rule){
		func(*alerts.Rule) {},
		func(r *alerts.Rule) { r.Threshold = varve.IntValue(6) },
		func(r *alerts.Rule) { r.Comparison = ">=" },
		func(r *alerts.Rule) { r.Comparison = "==" },
		func(r *alerts.Rule) { r.Comparison, r.Threshold = "==", varve.StringValue("5") },
		func(r *alerts.Rule) { r.Field = "w" },
		func(r *alerts.Rule) { r.Stream = "tides" },
		func(r *alerts.Rule) { r.Stream, r.Device = "", "weather" },
		func(r *alerts.Rule) { r.Device = "d" },
		func(r *alerts.Rule) { r.For = time.Second },
		func(r *alerts.Rule) { r.Severity = alerts.Info },
		func(r *alerts.Rule) {
			*r = alerts.Rule{Kind: alerts.Deadman, Stream: "weather", For: time.Minute, Severity: alerts.Info}
		},
	} {
		r := above(5, 0)
		change(&r)
		made := w.rule(r)
		if before, taken := of[made.ID]; taken {
			t.Errorf("%d and %d have id %s", before, i, made.ID)
		}
		of[made.ID] = i
		if again := w.rule(r); again.ID != made.ID {
			t.Errorf("%d made again: %s and %s", i, made.ID, again.ID)
		}
	}
}

// TestRule_RejectsMalformedIDs checks that malformed ids do not reach the store, which has limits
// of its own.
func TestRule_RejectsMalformedIDs(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ id, says string }{{"", "empty"}, {"a/b", "letters"}, {strings.Repeat("x", 1100), "the limit is 64"}} {
		_, err := w.Rule(t.Context(), tenant, c.id)
		invalid(t, err, "rule", c.says)
		invalid(t, w.DeleteRule(t.Context(), tenant, c.id), "rule", c.says)
	}
	if _, err := w.ResolveAlert(t.Context(), tenant, strings.Repeat("x", 3000)); varve.FailureOf(err) != varve.NotFound || len(err.Error()) > 200 {
		t.Errorf("an alert: %v", err)
	}
	if w.items.Gets+w.items.Queries != 0 {
		t.Errorf("the store is asked %d times", w.items.Gets+w.items.Queries)
	}
}

// TestAddRule_RejectsInvalidRules checks that each error names the parameter.
func TestAddRule_RejectsInvalidRules(t *testing.T) {
	w := newWorld(t)
	object, err := varve.JSONValue([]byte(`{"a":1}`))
	must(t, err)
	for _, c := range []struct {
		change      func(*alerts.Rule)
		param, says string
	}{
		{func(r *alerts.Rule) { r.Kind = "other" }, "kind", "deadman"},
		{func(r *alerts.Rule) { r.Stream = "" }, "stream", "both"},
		{func(r *alerts.Rule) { r.Stream = "a b" }, "stream", "letters"},
		{func(r *alerts.Rule) { r.Device = " x" }, "device", "space"},
		{func(r *alerts.Rule) { r.Field = "" }, "field", "empty"},
		{func(r *alerts.Rule) { r.Field = "_x" }, "field", "reserved"},
		{func(r *alerts.Rule) { r.Comparison = "=" }, "comparison", ">="},
		{func(r *alerts.Rule) { r.Threshold = varve.Value{} }, "threshold", "number"},
		{func(r *alerts.Rule) { r.Threshold = object }, "threshold", "number"},
		{func(r *alerts.Rule) { r.Threshold = varve.StringValue("x") }, "comparison", "use == or !="},
		{func(r *alerts.Rule) { r.For = -1 }, "for", "30d"},
		{func(r *alerts.Rule) { r.For = 31 * day }, "for", "30d"},
		{func(r *alerts.Rule) { r.Severity = "bad" }, "severity", "info, warning or critical"},
		{func(r *alerts.Rule) { r.ID = "a/b" }, "id", "letters"},
		{func(r *alerts.Rule) { r.Kind = alerts.Deadman }, "field", "no field"},
		{func(r *alerts.Rule) { r.Kind, r.Field = alerts.Deadman, "" }, "comparison", "nothing"},
		{func(r *alerts.Rule) { r.Kind, r.Field, r.Comparison = alerts.Deadman, "", "" }, "threshold", "no threshold"},
		{func(r *alerts.Rule) {
			*r = alerts.Rule{Kind: alerts.Deadman, Severity: alerts.Info, For: time.Second}
		}, "for", "1m"},
	} {
		r := above(5, 0)
		c.change(&r)
		_, _, err := w.AddRule(t.Context(), r)
		invalid(t, err, c.param, c.says)
	}
	_, err = w.Alerts(t.Context(), alerts.AlertList{Tenant: tenant, Severity: "bad"})
	invalid(t, err, "severity", "critical")
	_, err = w.Alerts(t.Context(), alerts.AlertList{Tenant: tenant, Cursor: "x"})
	invalid(t, err, "cursor", "not a cursor")
}

func TestComparisons_ApplyToKindsOfValues(t *testing.T) {
	num, str := func(n int64) varve.Value { return varve.IntValue(n) }, varve.StringValue
	for _, c := range []struct {
		comparison       alerts.Comparison
		threshold, value varve.Value
		holds            bool
	}{
		{">", num(5), num(6), true}, {">", num(5), num(5), false}, {">=", num(5), num(5), true}, {">=", num(5), num(4), false},
		{"<", num(5), num(4), true}, {"<", num(5), num(5), false}, {"<=", num(5), num(5), true}, {"<=", num(5), num(6), false},
		{"==", num(5), num(5), true}, {"==", num(5), num(6), false}, {"!=", num(5), num(6), true}, {"!=", num(5), num(5), false},
		{"==", str("on"), str("on"), true}, {"!=", str("on"), str("off"), true}, {"!=", str("on"), num(1), false},
		{"==", varve.BoolValue(true), varve.BoolValue(true), true}, {"==", varve.BoolValue(true), varve.BoolValue(false), false},
	} {
		w := newWorld(t)
		w.rule(alerts.Rule{Device: "d", Field: "v", Comparison: c.comparison, Threshold: c.threshold, Severity: alerts.Warning})
		w.send(reading("d", noon, varve.Field{Name: "v", Value: c.value}))
		if got := w.summary() != ""; got != c.holds {
			t.Errorf("%s %s %s: %v", c.value, c.comparison, c.threshold, got)
		}
	}
}

// TestRule_AppliesToStreamAndDevice checks that a rule applies only to readings of its stream, its
// device or both.
func TestRule_AppliesToStreamAndDevice(t *testing.T) {
	for _, c := range []struct {
		stream, device string
		want           string // a digit for d, for e, and for d in another stream: 1 if the reading opens an alert
	}{{"weather", "", "110"}, {"", "d", "101"}, {"weather", "d", "100"}, {"other", "", "001"}, {"none", "d", "000"}} {
		w := newWorld(t)
		rule := above(5, 0)
		rule.Stream, rule.Device = c.stream, c.device
		w.rule(rule)
		e, other, foreign := valued(0, 9), valued(0, 9), valued(0, 9)
		e.Device, other.Stream, foreign.Tenant = "e", "other", "foreign"
		w.send(valued(0, 9), e, other, foreign)
		got := ""
		for _, r := range []varve.Reading{valued(0, 9), e, other} {
			found := 0
			for _, a := range w.alerts(alerts.AlertList{}) {
				if a.Device == r.Device && a.Stream == r.Stream && a.Tenant == tenant {
					found++
				}
			}
			got += fmt.Sprint(found)
		}
		if got != c.want {
			t.Errorf("stream %q, device %q: %s, want %s", c.stream, c.device, got, c.want)
		}
	}
}

// TestRule_IsInForceAfterTenSeconds checks that many writes without a rule read the registry only
// once. Then it adds a rule in another process. After ten seconds, the rule must be in force in
// the first process, too.
func TestRule_IsInForceAfterTenSeconds(t *testing.T) {
	w := newWorld(t)
	other, _ := w.process(w.options)
	defer other.Close()
	for i := range 1000 {
		w.send(valued(i, 9))
	}
	if w.items.Queries != 1 {
		t.Errorf("%d queries of the registry without a rule", w.items.Queries)
	}
	rule := above(5, 0)
	rule.Tenant, rule.Gap = tenant, alerts.NoGap
	_, _, err := other.AddRule(t.Context(), rule)
	must(t, err)
	w.advance(10 * time.Second)
	w.send(valued(2000, 9))
	if got := w.summary(); got != "0-2000-" && got != "0-0-" {
		t.Errorf("ten seconds later: %q", got)
	}
	must(t, other.DeleteRule(t.Context(), tenant, w.alerts(alerts.AlertList{})[0].Rule))
	w.advance(10 * time.Second)
	w.send(valued(2001, 1))
	if got := w.alerts(alerts.AlertList{}); got[0].ResolvedBy != alerts.ByRuleDeleted {
		t.Errorf("its alert is %s %q", got[0].State(), got[0].ResolvedBy)
	}
}

// TestObserve_RejectsReadingsIfRegistryFails checks that a retry of rejected readings opens their
// alert.
func TestObserve_RejectsReadingsIfRegistryFails(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, 0))
	w.items.FailWrites(registrytest.FailOn("RUN#", "ALERT#"))
	if v := w.send(valued(0, 9), reading("e", noon)); !v[0].Code.Retryable() || v[1].Outcome != varve.Stored {
		t.Errorf("%v", v)
	}
	w.items.FailWrites(nil)
	if v := w.send(valued(0, 9)); v[0].Outcome != varve.Duplicate || w.summary() != "0-0-" {
		t.Errorf("%v %s", v, w.summary())
	}
	w.items.Unreadable = registrytest.ErrDisk
	w.advance(time.Minute)
	if v := w.send(valued(1, 1)); !v[0].Code.Retryable() || !strings.Contains(v[0].Message, registrytest.ErrDisk.Error()) {
		t.Errorf("%v", v)
	}
	w.items.Unreadable = nil
	w.send(valued(1, 1))
	if got := w.summary(); got != "0-0-1" {
		t.Error(got)
	}
}
