package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

// TestAlerts_ContinueWithoutFirstReading corrects the first reading of an open alert so that it lacks
// the field of the rule. The alert must continue with the next reading, and a later one must resolve it.
func TestAlerts_ContinueWithoutFirstReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, engine.Options{Store: mem.New(nil)})
		rule := alerts.Rule{
			Tenant: varve.DefaultTenant, Stream: "weather", Field: "v", Comparison: ">", Threshold: varve.IntValue(30), Severity: alerts.Warning,
		}
		if _, _, err := e.Alerts.AddRule(t.Context(), rule); err != nil {
			t.Fatal(err)
		}
		id, err := varve.ParseID("m1")
		if err != nil {
			t.Fatal(err)
		}
		since := e.Now()
		add := func(id varve.ID, second int, field string, v int64) {
			r := varve.Reading{ID: id, Time: since.Add(time.Duration(second) * time.Second), Fields: []varve.Field{{Name: field, Value: varve.IntValue(v)}}}
			if got := sendReading(t, e, r); got.Outcome != varve.Stored {
				t.Fatal(got)
			}
		}
		add(id, 0, "v", 35)
		add(varve.ID{}, 1, "v", 36)
		add(id.WithVersion(1), 0, "w", 1)
		add(varve.ID{}, 2, "v", 20)
		page, err := e.Alerts.Alerts(t.Context(), alerts.AlertList{Tenant: varve.DefaultTenant, Device: "a"})
		if err != nil || len(page.Items) != 1 || page.Items[0].Open() || !page.Items[0].Since.Equal(since) {
			t.Errorf("%+v, %v, want one resolved alert since %s", page.Items, err, since)
		}
	})
}
