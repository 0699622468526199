package alerts_test

import (
	"errors"
	"fmt"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The tests write alerts as text, such as "0-10-30 31-41-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in minutes after noon. The third part is empty if the alert is open. A
// log such as "11: 0-10- | 30: 0-10-30" shows all alerts at minute 11 and at minute 30, because they
// changed at these minutes. See world.minutes and world.checks.

// TestDeadman_OpensAndResolvesOneAlert checks that an alert does not open too early, and that the next
// reading resolves it.
func TestDeadman_OpensAndResolvesOneAlert(t *testing.T) {
	for _, c := range []struct {
		reason         string
		stream, device string
	}{{"of one device", "", "d"}, {"of all", "", ""}, {"of a stream", "weather", ""}, {"of a stream's device", "weather", "d"}} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.rule(alerts.Rule{Kind: alerts.Deadman, Stream: c.stream, Device: c.device, For: 10 * time.Minute, Severity: alerts.Critical})
				w.send(reading("d", noon.Add(-time.Hour)))
				synctest.Wait()
				var log []string
				for minute := 1; minute <= 60; minute++ {
					w.advance(time.Minute)
					if minute == 30 || minute == 31 {
						w.send(reading("d", noon.Add(time.Duration(minute)))) // a reading with an old event time, which arrives now
						synctest.Wait()
					}
					must(t, w.CheckDeadman(t.Context()))
					if got := w.minutes(); len(log) == 0 || !strings.HasSuffix(log[len(log)-1], ": "+got) {
						log = append(log, fmt.Sprintf("%d: %s", minute, got))
					}
				}
				// Last-seen times are stored to the minute, so the alert opens a minute late.
				const want = "1:  | 11: 0-10- | 30: 0-10-30 | 42: 0-10-30 31-41-"
				if got := strings.Join(log, " | "); got != want {
					t.Errorf("%s\nwant %s", got, want)
				}
			})
		})
	}
}

// minutes returns the alerts of device d as text, the oldest first, in minutes from noon.
func (w *world) minutes() string {
	var all []string
	for _, a := range w.alerts(alerts.AlertList{Device: "d"}) {
		min := func(t time.Time) int { return int(t.Sub(noon) / time.Minute) }
		text := fmt.Sprintf("%d-%d-", min(a.Since), min(a.OpenedAt))
		if !a.Open() {
			text += fmt.Sprint(min(a.ResolvedAt))
		}
		all = append([]string{text}, all...)
	}
	return strings.Join(all, " ")
}

// TestDeadman_AppliesToActiveDevices checks a rule that names neither a stream nor a device. It must
// apply to the active devices of its tenant, even if they never reported.
func TestDeadman_AppliesToActiveDevices(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.rule(alerts.Rule{Kind: alerts.Deadman, For: 10 * time.Minute, Severity: alerts.Info})
	for device, status := range map[string]devices.Status{"silent": devices.Active, "mended": devices.Maintenance, "off": devices.Inactive} {
		for _, of := range []string{tenant, "other"} {
			_, err := w.Devices.Put(ctx, devices.Device{Tenant: of, Device: device, Status: status}, w)
			must(t, err)
		}
	}
	w.advance(time.Hour)
	for range 3 {
		must(t, w.CheckDeadman(ctx))
	}
	list := w.alerts(alerts.AlertList{})
	if len(list) != 1 || list[0].Device != "silent" || list[0].Message != "no reading for 10m" || !list[0].Since.Equal(noon) {
		t.Errorf("%+v", list)
	}
	if page, err := w.Alerts(ctx, alerts.AlertList{Tenant: "other"}); err != nil || len(page.Items) != 0 {
		t.Errorf("%+v %v", page, err)
	}
}

// TestDeadman_IsCheckedByOneProcess makes the check fail in one process. Another process must take
// over and complete the check.
func TestDeadman_IsCheckedByOneProcess(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.rule(alerts.Rule{Kind: alerts.Deadman, Device: "d", For: 10 * time.Minute, Severity: alerts.Info})
	_, err := w.Devices.Put(ctx, devices.Device{Tenant: tenant, Device: "d"}, w)
	must(t, err)
	w.advance(time.Hour)
	w.items.FailWrites(registrytest.FailOn("ALERT#"))
	if err := w.CheckDeadman(ctx); err == nil {
		t.Error("no error")
	}
	o := w.options
	o.Holder = "other"
	other, _ := w.process(o)
	defer other.Close()
	w.items.FailWrites(nil)
	must(t, other.CheckDeadman(ctx))
	if got := w.minutes(); got != "0-10-" {
		t.Errorf("%q", got)
	}
	if n := len(w.alerts(alerts.AlertList{Severity: alerts.Info})); n != 1 {
		t.Errorf("%d alerts", n)
	}
}

// TestDeadman_TakesOverFromKilledProcess checks that another process takes over at its third check.
// So the alert opens two minutes late.
func TestDeadman_TakesOverFromKilledProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ctx := newWorld(t), t.Context()
		w.rule(alerts.Rule{Kind: alerts.Deadman, Device: "d", For: 10 * time.Minute, Severity: alerts.Info})
		w.send(reading("d", noon))
		synctest.Wait()
		w.advance(10 * time.Minute)
		killed := lease.Manager{Items: w.items, Now: w.now, Holder: "killed", TTL: time.Minute}
		_, err := killed.Acquire(ctx, "deadman")
		must(t, err)
		var log []string
		for minute := 11; minute <= 13; minute++ {
			w.advance(time.Minute)
			must(t, w.CheckDeadman(ctx))
			log = append(log, fmt.Sprintf("%d: %s", minute, w.minutes()))
		}
		if got, want := strings.Join(log, " | "), "11:  | 12:  | 13: 0-10-"; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// TestCheckDeadman_SkipsWhileRunning checks that a concurrent check does not try to get the lease.
func TestCheckDeadman_SkipsWhileRunning(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.rule(alerts.Rule{Kind: alerts.Deadman, Device: "d", For: 10 * time.Minute, Severity: alerts.Info})
	_, err := w.Devices.Put(ctx, devices.Device{Tenant: tenant, Device: "d"}, w)
	must(t, err)
	w.advance(time.Hour)
	again := false
	w.items.FailWrites(func(k store.Key) error {
		if again || !strings.HasPrefix(k.SK, "ALERT#") {
			return nil
		}
		again = true
		w.advance(2 * time.Minute)
		puts := w.items.Puts("deadman")
		must(t, w.CheckDeadman(ctx))
		if n := w.items.Puts("deadman"); n != puts {
			t.Error("it took the lease")
		}
		return nil
	})
	must(t, w.CheckDeadman(ctx))
	if got := w.minutes(); got != "0-10-" || !again {
		t.Errorf("%q, in the midst: %t", got, again)
	}
}

// TestDeadmanOfDevice_SkipsInactiveDevices covers devices that are not registered or not active.
// They must not stop the evaluation of other rules. Once such a device is active, its alert must open.
func TestDeadmanOfDevice_SkipsInactiveDevices(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	for _, device := range []string{"unknown", "mended", "off", "z"} {
		w.rule(alerts.Rule{Kind: alerts.Deadman, ID: "of-" + device, Device: device, For: 10 * time.Minute, Severity: alerts.Info})
	}
	put := func(device string, s devices.Status) {
		_, err := w.Devices.Put(ctx, devices.Device{Tenant: tenant, Device: device, Status: s}, w)
		must(t, err)
	}
	put("mended", devices.Maintenance)
	put("off", devices.Inactive)
	put("z", devices.Active)
	silent := func() string {
		w.advance(time.Hour)
		must(t, w.CheckDeadman(ctx))
		var devices []string
		for _, a := range w.alerts(alerts.AlertList{}) {
			devices = append(devices, a.Device)
		}
		slices.Sort(devices)
		return strings.Join(devices, " ")
	}
	for range 2 {
		if got := silent(); got != "z" {
			t.Errorf("alerts of %s", got)
		}
	}
	put("mended", devices.Active)
	put("unknown", devices.Active)
	if got := silent(); got != "mended unknown z" {
		t.Errorf("alerts of %s", got)
	}
	w.items.FailWrites(registrytest.FailOn("RUN#"))
	put("off", devices.Active)
	w.advance(time.Hour)
	if err := w.CheckDeadman(ctx); !errors.Is(err, registrytest.ErrDisk) || !strings.Contains(err.Error(), "of-off: device off: ") {
		t.Error(err)
	}
}
