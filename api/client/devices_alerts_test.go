package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// TestDevice_IsReadAsWritten checks that a device is written and read unchanged, whatever its name,
// and that lists continue from page to page.
func TestDevice_IsReadAsWritten(t *testing.T) {
	c, ctx := newClient(t), t.Context()
	put := wire.DevicePut{Name: "Ä", Status: "maintenance", Attributes: json.RawMessage(`{"floor":2}`), Retention: "30d"}
	if _, err := c.PutDevice(ctx, device, put); err != nil {
		t.Fatal(err)
	}
	d, err := c.Device(ctx, device)
	if err != nil || d.Device != device || d.Name != "Ä" || d.Retention != "30d" || string(d.Attributes) != `{"floor":2}` || !d.CreatedAt.Equal(noon) {
		t.Errorf("%+v %v", d, err)
	}
	for i := range 5 {
		if _, err := c.PutDevice(ctx, fmt.Sprint("d", i), wire.DevicePut{}); err != nil {
			t.Fatal(err)
		}
	}
	var names string
	for d, err := range client.Pages(client.List{Limit: 2}, func(l client.List) ([]wire.DeviceBody, string, error) {
		page, err := c.Devices(ctx, "active", l)
		return page.Devices, page.Next, err
	}) {
		if err != nil {
			t.Fatal(err)
		}
		names += d.Device
	}
	if names != "d0d1d2d3d4" {
		t.Error(names)
	}
	if err := c.DeleteDevice(ctx, device); err != nil {
		t.Error(err)
	}
	if err := c.DeleteDevice(ctx, device); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
	var e *varve.Error
	if _, err := c.Devices(ctx, "broken", client.List{}); !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param != "status" {
		t.Errorf("%v", err)
	}
}

// TestLogs_AreListedByFilter checks that entries are listed by device, operator and supervisor.
func TestLogs_AreListedByFilter(t *testing.T) {
	c, ctx := newClient(t), t.Context()
	l := wire.LogPost{Time: json.RawMessage(`"2026-11-18T11:00:00Z"`), State: "WARNING", Message: "hot", Operator: "Liz/1", EscalatedTo: "Sara #2"}
	named := wire.LogPost{Time: l.Time, ID: "case-17", State: "WARNING", Message: "hot"}
	for _, want := range []string{"stored", "duplicate"} {
		if a, err := c.AddLog(ctx, device, l); err != nil || a.Verdict != want || a.Log.Device != device {
			t.Errorf("%+v %v", a, err)
		}
	}
	if a, err := c.AddLog(ctx, "conflicts", named); err != nil || a.Verdict != "stored" {
		t.Errorf("%+v %v", a, err)
	}
	named.Message = "cold"
	if a, err := c.AddLog(ctx, "conflicts", named); err != nil || a.Verdict != "conflict" || a.Log.Message != "hot" || a.Sent.Message != "cold" {
		t.Errorf("%+v %v", a, err)
	}
	for _, q := range []client.LogQuery{{Device: device}, {Device: device, State: "WARNING", From: "-2h"}, {Operator: "Liz/1", During: "2026-11"}, {Supervisor: "Sara #2", Order: varve.Descending}} {
		if page, err := c.Logs(ctx, q, client.List{Limit: 10}); err != nil || len(page.Logs) != 1 || page.Logs[0].Message != "hot" {
			t.Errorf("%+v: %+v %v", q, page, err)
		}
	}
	if page, err := c.Logs(ctx, client.LogQuery{Device: device, To: "-2h"}, client.List{}); err != nil || len(page.Logs) != 0 {
		t.Errorf("%+v %v", page, err)
	}
}

func TestAlert_IsListedAndResolved(t *testing.T) {
	c, ctx := newClient(t), t.Context()
	rule, err := c.AddRule(ctx, wire.RulePost{Device: device, Field: "v", Comparison: ">=", Threshold: json.RawMessage(`1`), Severity: "critical"})
	if err != nil || rule.Verdict != "stored" {
		t.Fatalf("%+v %v", rule, err)
	}
	write(t, c, readings(3))
	for _, get := range []func() (wire.AlertList, error){
		func() (wire.AlertList, error) { return c.Alerts(ctx, "critical", "open", client.List{}) },
		func() (wire.AlertList, error) { return c.AlertsOf(ctx, device, "resolved", client.List{}) },
	} {
		list, err := get()
		if err != nil || len(list.Alerts) != 1 || list.Alerts[0].Rule != rule.Rule.ID || !list.Alerts[0].Since.Equal(noon.Add(-time.Minute+7)) {
			t.Fatalf("%+v %v", list, err)
		}
		if a, err := c.ResolveAlert(ctx, list.Alerts[0].ID); err != nil || a.ResolvedBy != "hand" {
			t.Errorf("%+v %v", a, err)
		}
	}
	for _, get := range []func() (wire.AlertList, error){
		func() (wire.AlertList, error) { return c.Alerts(ctx, "critical", "open", client.List{}) },
		func() (wire.AlertList, error) { return c.AlertsOf(ctx, device, "open", client.List{}) },
	} {
		if list, err := get(); err != nil || len(list.Alerts) != 0 {
			t.Errorf("open: %+v %v", list, err)
		}
	}
	if got, err := c.Rule(ctx, rule.Rule.ID); err != nil || got.Field != "v" {
		t.Errorf("%+v %v", got, err)
	}
	if err := c.DeleteRule(ctx, rule.Rule.ID); err != nil {
		t.Error(err)
	}
	if list, err := c.Rules(ctx); err != nil || len(list.Rules) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// TestAlerts_AreChangedByHand checks that an alert can be read, acknowledged, muted and resolved, and
// that a rule can be changed and muted.
func TestAlerts_AreChangedByHand(t *testing.T) {
	c, ctx := newClient(t), t.Context()
	post := wire.RulePost{ID: "hot", Device: device, Field: "v", Comparison: ">=", Threshold: json.RawMessage(`1`), Severity: "critical"}
	if _, err := c.AddRule(ctx, post); err != nil {
		t.Fatal(err)
	}
	write(t, c, readings(3))
	list, err := c.Alerts(ctx, "", "", client.List{})
	if err != nil || len(list.Alerts) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	id := list.Alerts[0].ID
	if a, err := c.AcknowledgeAlert(ctx, id, wire.Acknowledgement{By: "ann"}); err != nil || a.Acknowledged == nil || a.Acknowledged.By != "ann" {
		t.Errorf("%+v %v", a, err)
	}
	until := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if a, err := c.MuteAlert(ctx, id, wire.Mute{Until: &until}); err != nil || a.MutedUntil == nil || !a.MutedUntil.Equal(until) {
		t.Errorf("%+v %v", a, err)
	}
	if a, err := c.UnmuteAlert(ctx, id); err != nil || a.MutedUntil != nil {
		t.Errorf("%+v %v", a, err)
	}
	if r, err := c.ResolveAlerts(ctx, wire.AlertChoice{Rule: "hot"}); err != nil || len(r.Resolved) != 1 || r.Next != "" {
		t.Errorf("%+v %v", r, err)
	}
	if a, err := c.Alert(ctx, id); err != nil || a.ResolvedBy != "hand" {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := c.Alert(ctx, "no/thing"); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("%v", err)
	}
	post.Severity = "info"
	if r, err := c.EditRule(ctx, "hot", post); err != nil || r.Severity != "info" || r.UpdatedAt == nil {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := c.MuteRule(ctx, "hot", wire.Mute{For: "2h"}); err != nil || r.MutedUntil == nil {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := c.UnmuteRule(ctx, "hot"); err != nil || r.MutedUntil != nil {
		t.Errorf("%+v %v", r, err)
	}
}
