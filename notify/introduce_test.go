package notify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/store"
)

// named returns a target that receives all alerts.
func named(name string, r notify.Notifier) notify.Target {
	return notify.Target{Name: name, Notifier: r}
}

// during runs a process on a store, calls the function "do", and closes the process.
func during(t *testing.T, s store.Store, do func(w *world), targets ...notify.Target) {
	t.Helper()
	w := open(t, unclosed{s}, targets...)
	do(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// received returns the number of received messages, and fails the test if one was received twice.
func (r *receiver) received(t *testing.T) (n int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	for _, m := range r.messages {
		if seen[m.ID] {
			t.Errorf("message %s about %s was received twice", m.ID, m.Alert.Device)
		}
		seen[m.ID] = true
	}
	return len(r.messages)
}

// TestSender_AnnouncesOpenAlertsToAddedNotifier opens 1,000 alerts, adds a notifier, and restarts the
// process while it delivers. The added notifier must receive each opening once, and the first one must
// receive nothing more.
func TestSender_AnnouncesOpenAlertsToAddedNotifier(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const count = 1000
		s, first, added := newStore(), &receiver{}, &receiver{}
		during(t, s, func(w *world) {
			w.hot()
			for i := range count {
				w.send(fmt.Sprintf("d%04d", i), time.Now(), 35)
			}
			w.send("over", time.Now(), 35, 20)
			wait(20 * time.Second)
		}, named("first", first))
		if n := first.received(t); n != count+2 {
			t.Fatalf("the first notifier received %d messages, want %d", n, count+2)
		}
		var sent atomic.Int64
		added.setFault(func(*notify.Message) error {
			if n := sent.Add(1); n > count/2 {
				return fmt.Errorf("message %d is refused until the restart", n)
			}
			return nil
		})
		during(t, s, func(*world) { wait(time.Second) }, named("first", first), named("added", added))
		added.setFault(nil)
		for range 2 {
			during(t, s, func(*world) { wait(time.Minute) }, named("first", first), named("added", added))
		}
		if n := first.received(t); n != count+2 {
			t.Errorf("the first notifier received %d messages, want %d", n, count+2)
		}
		if n := added.received(t); n != count || strings.Contains(added.log(), "resolved") || strings.Contains(added.log(), "late") {
			t.Errorf("the added notifier received %d messages, want %d openings", n, count)
		}
		during(t, s, func(w *world) {
			w.send("d0000", time.Now(), 20)
			wait(10 * time.Second)
		}, named("first", first), named("added", added))
		for _, r := range []*receiver{first, added} {
			if !strings.HasSuffix(r.log(), "resolved d0000 by condition") {
				t.Error("a notifier did not receive the resolution")
			}
		}
	})
}

// TestSender_AnnouncesAlertsOfTimeWithoutNotifiers checks that the first notifier receives the alerts
// that are open already. It must receive a muted alert when the mute ends, and only alerts of its
// route.
func TestSender_AnnouncesAlertsOfTimeWithoutNotifiers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, r := newStore(), &receiver{}
		during(t, s, func(w *world) {
			w.hot()
			w.send("a", time.Now(), 35)
			w.send("b", time.Now(), 35)
			list, err := w.Alerts.Alerts(t.Context(), alerts.AlertList{Tenant: tenant, Device: "b"})
			if err != nil || len(list.Items) != 1 {
				t.Fatal(list, err)
			}
			if _, err := w.Alerts.MuteAlert(t.Context(), tenant, list.Items[0].ID, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		})
		critical := named("ops", r)
		critical.Route.Severities = []alerts.Severity{alerts.Critical}
		during(t, s, func(*world) { wait(time.Minute) }, critical)
		expect(t, r, "")
		during(t, s, func(*world) { wait(time.Minute) }, named("ops", r)) // this route selects all alerts
		expect(t, r, "opened a")
		during(t, s, func(*world) { wait(2 * time.Hour) }, named("ops", r))
		expect(t, r, "opened a, opened b")
	})
}

// TestSender_AnnouncesChangesOfTimeWithoutNotifiers removes a notifier for some time. When it is added again,
// it must receive the alerts of this time that are still open, and the resolutions of alerts that it knows.
func TestSender_AnnouncesChangesOfTimeWithoutNotifiers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, r := newStore(), &receiver{}
		during(t, s, func(w *world) {
			w.hot()
			w.send("b", time.Now(), 35)
			w.send("c", time.Now(), 35)
			wait(10 * time.Second)
		}, named("ops", r))
		during(t, s, func(w *world) {
			w.send("a", time.Now(), 35)
			w.send("b", time.Now(), 20)
			w.send("short", time.Now(), 35, 20)
			wait(time.Second)
		})
		during(t, s, func(*world) { wait(time.Minute) }, named("ops", r))
		r.received(t)
		if got := sortedLog(r); got != "opened a, opened b, opened c, resolved b by condition" {
			t.Errorf("received %q", got)
		}
	})
}

// TestSender_AnnouncesUndeliveredOpeningToNotifierAddedAgain removes a notifier that has not received
// an opening, and adds it again. It must receive the opening and the resolution.
func TestSender_AnnouncesUndeliveredOpeningToNotifierAddedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, up, down := newStore(), &receiver{}, &receiver{}
		down.setFault(func(*notify.Message) error { return errors.New("down") })
		during(t, s, func(w *world) {
			w.hot()
			w.send("a", time.Now(), 35)
			wait(time.Minute)
		}, named("up", up), named("down", down))
		during(t, s, func(*world) { wait(time.Minute) }, named("up", up))
		down.setFault(nil)
		during(t, s, func(w *world) {
			wait(time.Minute)
			w.send("a", time.Now(), 20)
			wait(time.Minute)
		}, named("up", up), named("down", down))
		for _, r := range []*receiver{up, down} {
			r.received(t)
			expect(t, r, "opened a, resolved a by condition")
		}
	})
}

// sortedLog returns the log of a receiver in alphabetical order.
func sortedLog(r *receiver) string {
	return strings.Join(slices.Sorted(slices.Values(strings.Split(r.log(), ", "))), ", ")
}
