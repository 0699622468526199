package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store/mem"
)

// send writes one reading of device a and returns its verdict.
func send(t *testing.T, e *engine.Engine, v int64) varve.Verdict {
	t.Helper()
	return sendReading(t, e, varve.Reading{Time: e.Now(), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(v)}}})
}

// sendReading writes a reading of device a and returns its verdict.
func sendReading(t *testing.T, e *engine.Engine, r varve.Reading) varve.Verdict {
	t.Helper()
	req, err := e.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer req.Done()
	r.Series = varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}
	verdicts := make([]varve.Verdict, 1)
	if err := req.Write(t.Context(), []varve.Reading{r}, verdicts); err != nil {
		t.Fatal(err)
	}
	return verdicts[0]
}

// TestEngine_RegistersDevicesAndRaisesAlerts checks that a reading registers its device and raises
// the alerts of rules. If no other reading follows, a deadman alert must open. Queries must use the
// retention of the device.
func TestEngine_RegistersDevicesAndRaisesAlerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, engine.Options{Store: mem.New(nil)})
		for _, r := range []alerts.Rule{
			{Tenant: varve.DefaultTenant, Stream: "weather", Field: "v", Comparison: ">", Threshold: varve.IntValue(5), Severity: alerts.Warning},
			{Tenant: varve.DefaultTenant, Kind: alerts.Deadman, For: 10 * time.Minute, Severity: alerts.Critical},
		} {
			if _, _, err := e.Alerts.AddRule(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		sent := e.Now()
		if v := send(t, e, 9); v.Outcome != varve.Stored {
			t.Fatal(v)
		}
		wait(13 * time.Minute)
		d, err := e.Devices.Get(t.Context(), varve.DefaultTenant, "a")
		if err != nil || d.Status != devices.Active || !d.LastSeenAt.Equal(sent) {
			t.Errorf("%+v %v", d, err)
		}
		page, err := e.Alerts.Alerts(t.Context(), alerts.AlertList{Tenant: varve.DefaultTenant, Device: "a"})
		if err != nil || len(page.Items) != 2 {
			t.Fatalf("%+v %v", page, err)
		}
		for _, a := range page.Items {
			if !a.Open() || !a.Since.Equal(sent) || a.Stream == "" && a.Message != "no reading for 10m" || a.Stream != "" && a.Message != "v > 5" {
				t.Errorf("%+v", a)
			}
		}
		d.Retention = 10 * time.Minute
		if _, err := e.Devices.Put(t.Context(), d, e.Query); err != nil {
			t.Fatal(err)
		}
		a, err := e.Query.Latest(t.Context(), query.LatestQuery{Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}})
		if err != nil || a.Found {
			t.Errorf("expired, and found: %+v %v", a, err)
		}
	})
}

// TestAlerts_IgnoreShortRetention checks alerts for a device whose retention is shorter than the time
// for which a condition must be true, and than a silence. One alert must begin at the first reading, and
// the other at the last one, although both readings have expired.
func TestAlerts_IgnoreShortRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, engine.Options{Store: mem.New(nil)})
		if _, err := e.Devices.Put(t.Context(), devices.Device{Tenant: varve.DefaultTenant, Device: "a", Retention: time.Minute}, e.Query); err != nil {
			t.Fatal(err)
		}
		add := func(r alerts.Rule) {
			r.Tenant, r.Stream, r.Severity = varve.DefaultTenant, "weather", alerts.Warning
			if _, _, err := e.Alerts.AddRule(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		add(alerts.Rule{ID: "high", Field: "v", Comparison: ">", Threshold: varve.IntValue(5), For: 2 * time.Minute})
		begin := e.Now()
		for range 5 {
			if v := send(t, e, 9); v.Outcome != varve.Stored {
				t.Fatal(v)
			}
			wait(40 * time.Second)
		}
		wait(time.Hour)
		add(alerts.Rule{ID: "quiet", Kind: alerts.Deadman, For: 10 * time.Minute}) // the last readings of the device have expired
		wait(3 * time.Minute)
		page, err := e.Alerts.Alerts(t.Context(), alerts.AlertList{Tenant: varve.DefaultTenant, Device: "a"})
		if err != nil || len(page.Items) != 2 {
			t.Fatalf("%+v %v", page, err)
		}
		for _, a := range page.Items {
			since := begin
			if a.Rule == "quiet" {
				since = begin.Add(160 * time.Second)
			}
			if !a.Since.Equal(since) {
				t.Errorf("%+v, want it since %s", a, since)
			}
		}
	})
}
