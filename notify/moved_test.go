package notify_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/store"
)

// unclosed is a store that outlives its engine.
type unclosed struct{ store.Store }

func (unclosed) Close() error { return nil }

// TestSender_FollowsMovedAlerts checks the messages about an alert that another one replaces,
// and about one that late readings withdraw.
func TestSender_FollowsMovedAlerts(t *testing.T) {
	for _, c := range []struct {
		name, want string
		rule       func(*alerts.Rule)
		early      int64 // value of a late reading; if it is above 30, the time of the late reading is 10s before the first one, else 1.5s after
	}{
		{"replaced", "opened a, opened a, resolved a by withdrawn", func(*alerts.Rule) {}, 35},
		{"withdrawn", "opened a, resolved a by withdrawn", func(r *alerts.Rule) { r.For = 2 * time.Second }, 20},
	} {
		inBubble(t, func(t *testing.T) {
			r := &receiver{}
			w := open(t, newStore(), all(r))
			w.hot(c.rule)
			at := time.Now()
			w.send("a", at, 35, 35, 35)
			wait(5 * time.Second)
			expect(t, r, "opened a")
			if c.early > 30 {
				w.send("a", at.Add(-10*time.Second), c.early)
			} else {
				w.send("a", at.Add(1500*time.Millisecond), c.early)
			}
			wait(5 * time.Second)
			expect(t, r, c.want)
			last := r.messages[len(r.messages)-1].Alert
			if replaced := last.ReplacedBy != ""; replaced != (c.name == "replaced") {
				t.Errorf("%s: replaced by %q", c.name, last.ReplacedBy)
			}
		})
	}
}

func TestSender_HoldsMutedOpenings(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		w := open(t, newStore(), all(r))
		w.hot()
		if _, err := w.Alerts.MuteRule(t.Context(), tenant, "hot", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		w.send("over", time.Now(), 35, 20)
		w.send("open", time.Now(), 35)
		wait(59 * time.Minute)
		expect(t, r, "")
		wait(2 * time.Minute)
		expect(t, r, "opened open")
		w.send("open", time.Now(), 20)
		wait(5 * time.Second)
		expect(t, r, "opened open, resolved open by condition")
	})
}

func TestSender_ReportsHandAndRuleChanges(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		w := open(t, newStore(), all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		wait(5 * time.Second)
		w.send("b", time.Now(), 35)
		wait(5 * time.Second)
		id := r.messages[0].Alert.ID
		if _, err := w.Alerts.ResolveAlert(t.Context(), tenant, id); err != nil {
			t.Fatal(err)
		}
		wait(5 * time.Second)
		expect(t, r, "opened a, opened b, resolved a by hand")
		if err := w.Alerts.DeleteRule(t.Context(), tenant, "hot"); err != nil {
			t.Fatal(err)
		}
		wait(5 * time.Second)
		expect(t, r, "opened a, opened b, resolved a by hand, resolved b by rule_deleted")
	})
}

// TestSender_OmitsMovedEnd checks that no message follows if late readings move the end of an alert
// that was delivered as resolved.
func TestSender_OmitsMovedEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		w := open(t, newStore(), all(r))
		w.hot(func(r *alerts.Rule) { r.Gap = 10 * time.Second })
		at := time.Now()
		w.send("a", at, 35)
		w.send("a", at.Add(18*time.Second), 20)
		wait(5 * time.Second)
		expect(t, r, "opened a, resolved a by gap")
		w.send("a", at.Add(9*time.Second), 35) // the episode now ends at the reading after the gap
		wait(5 * time.Second)
		expect(t, r, "opened a, resolved a by gap")
	})
}

func TestRoute_SelectsBySeverityStreamRuleAndTenant(t *testing.T) {
	a := &alerts.Alert{Tenant: "t", Stream: "weather", Rule: "hot", Severity: alerts.Critical}
	for _, c := range []struct {
		route notify.Route
		want  bool
	}{
		{notify.Route{}, true},
		{notify.Route{Severities: []alerts.Severity{alerts.Info, alerts.Critical}}, true},
		{notify.Route{Severities: []alerts.Severity{alerts.Info}}, false},
		{notify.Route{Streams: []string{"weather"}, Rules: []string{"hot"}, Tenants: []string{"t"}}, true},
		{notify.Route{Streams: []string{"power"}}, false},
		{notify.Route{Rules: []string{"cold"}}, false},
		{notify.Route{Tenants: []string{"u"}}, false},
	} {
		if got := c.route.Matches(a); got != c.want {
			t.Errorf("%+v: %t, want %t", c.route, got, c.want)
		}
	}
}

// TestSender_DelaysOnlyTheFailingNotifier checks that a notifier that fails delays no other, and
// that each receives its own alerts.
func TestSender_DelaysOnlyTheFailingNotifier(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		bad := &receiver{fault: func(*notify.Message) error {
			<-time.After(9 * time.Second)
			return &notify.SendError{Fault: notify.Unreachable, Err: store.ErrCondition}
		}}
		good, other := &receiver{}, &receiver{}
		w := open(t, newStore(), notify.Target{Name: "bad", Notifier: bad}, notify.Target{Name: "good", Notifier: good},
			notify.Target{Name: "other", Notifier: other, Route: notify.Route{Severities: []alerts.Severity{alerts.Info}}})
		w.hot()
		w.send("a", time.Now(), 35)
		wait(3 * time.Second)
		w.send("a", time.Now(), 20)
		wait(3 * time.Second)
		expect(t, good, "opened a, resolved a by condition")
		expect(t, other, "")
		bad.setFault(nil)
		wait(time.Minute)
		expect(t, bad, "opened a, resolved a by condition")
	})
}
