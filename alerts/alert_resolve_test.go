package alerts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
)

// The tests write alerts as text, such as "1-4-6 8-8-gap10 12-12-". Each alert has three parts: Since,
// OpenedAt and ResolvedAt, in seconds after noon. The third part is empty if the alert is open, and begins
// with "gap" if a gap ended the episode. For the reasons ByHand, ByRuleDeleted and ByRuleChanged, that part
// is "hand", "deleted" or "changed". A final "L" marks a late alert. See world.summary.

// TestResolveAlert_HoldsWhileConditionHolds checks that late readings do not reopen a resolved
// alert. After the condition has failed, a new alert must open.
func TestResolveAlert_HoldsWhileConditionHolds(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.rule(above(5, 0))
	w.send(valued(5, 9))
	id := w.alerts(alerts.AlertList{})[0].ID
	w.advance(time.Minute)
	a, err := w.ResolveAlert(ctx, tenant, id)
	if err != nil || a.Open() || a.ResolvedBy != alerts.ByHand || !a.ResolvedAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v %v", a, err)
	}
	w.advance(time.Minute)
	if again, err := w.ResolveAlert(ctx, tenant, id); err != nil || again != a {
		t.Errorf("twice: %+v %v", again, err)
	}
	for _, c := range []struct {
		r    varve.Reading
		want string
	}{
		{valued(6, 9), "5-5-hand"},
		{valued(9, 9), "5-5-hand"},
		{valued(3, 9), "3-3-hand"},
		{valued(7, 1), "3-3-hand 9-9-hand"},
		{valued(10, 1), "3-3-hand 9-9-hand"},
		{valued(11, 9), "3-3-hand 9-9-hand 11-11-"},
	} {
		w.send(c.r)
		if got := w.summary(); got != c.want {
			t.Errorf("after %s: %q, want %q", c.r.Time.Format("15:04:05"), got, c.want)
		}
	}
	now := w.alerts(alerts.AlertList{Device: "d"})
	if moved, err := w.ResolveAlert(ctx, tenant, id); err != nil || moved != now[len(now)-1] || moved.ID == id {
		t.Errorf("it began earlier: its id leads to %+v, %v", moved, err)
	}
	for _, bad := range [][2]string{{tenant, "nothing"}, {"other", w.alerts(alerts.AlertList{})[0].ID}} {
		if _, err := w.ResolveAlert(ctx, bad[0], bad[1]); varve.FailureOf(err) != varve.NotFound {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestAlerts_ListNewestFirst lists the alerts of a device, and of a severity across devices, page
// by page. The newest alert must be first.
func TestAlerts_ListNewestFirst(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, 0))
	warn := above(7, 0)
	warn.Severity = alerts.Warning
	w.rule(warn)
	for i := range 30 {
		r := valued(i, 6+int64(i%3))
		r.Device = fmt.Sprint("d", i)
		w.send(r)
	}
	for _, limit := range []int{1, 7, 30, 0} {
		for severity, want := range map[alerts.Severity]int{alerts.Critical: 30, alerts.Warning: 10, alerts.Info: 0, "": 40} {
			list := w.alerts(alerts.AlertList{Severity: severity, Limit: limit})
			if len(list) != want {
				t.Errorf("%q in pages of %d: %d alerts, want %d", severity, limit, len(list), want)
			}
			for i, a := range list {
				if i > 0 && a.Since.After(list[i-1].Since) || severity != "" && a.Severity != severity {
					t.Errorf("%q: %+v behind %+v", severity, a, list[i-1])
				}
			}
		}
	}
	if list := w.alerts(alerts.AlertList{Device: "d2"}); len(list) != 2 || list[0].Message != "v > 5" && list[0].Message != "v > 7" || list[0].Value.String() != "8" {
		t.Errorf("%+v", list)
	}
}

// TestAlert_OutlivesExpiredReadings checks that an alert ends with its episode, even if the earlier
// readings have expired.
func TestAlert_OutlivesExpiredReadings(t *testing.T) {
	w := newWorld(t)
	w.rule(above(5, 0))
	w.send(valued(0, 9))
	clear(w.readings)
	w.send(valued(5, 9))
	clear(w.readings)
	w.send(valued(9, 1))
	if got := w.summary(); got != "0-0-9" {
		t.Error(got)
	}
}
