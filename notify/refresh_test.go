package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/notify"
)

// forgetful is a receiver that forgets alerts, and counts the messages that are resent.
type forgetful struct {
	receiver
	mu     sync.Mutex
	resent map[notify.Type]int
}

func (f *forgetful) Refresh(_ context.Context, list []*notify.Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range list {
		f.resent[m.Type]++
	}
	return nil
}

func (f *forgetful) RefreshEvery() time.Duration    { return time.Minute }
func (f *forgetful) RefreshResolved() time.Duration { return 15 * time.Minute }

func (f *forgetful) counts() (opened, resolved int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resent[notify.Opened], f.resent[notify.Resolved]
}

// TestSender_ResendsOpenAlerts checks that an open alert is resent every minute, and its resolution
// for a quarter of an hour.
func TestSender_ResendsOpenAlerts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &forgetful{resent: map[notify.Type]int{}}
		w := open(t, newStore(), all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		wait(10 * time.Minute)
		if opened, resolved := r.counts(); opened < 9 || opened > 11 || resolved != 0 {
			t.Errorf("after 10 minutes: %d openings and %d resolutions are resent", opened, resolved)
		}
		w.send("a", time.Now(), 20)
		wait(time.Hour)
		if opened, resolved := r.counts(); opened > 11 || resolved < 13 || resolved > 16 {
			t.Errorf("an hour after the end: %d openings and %d resolutions are resent", opened, resolved)
		}
		expect(t, &r.receiver, "opened a, resolved a by condition")
		if n := w.entries(); n != 0 {
			t.Errorf("%d entries remain in the outbox", n)
		}
	})
}

// TestSender_ResendsBesideJobs checks that an open alert is resent while other messages are due in
// every round.
func TestSender_ResendsBesideJobs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &forgetful{resent: map[notify.Type]int{}}
		w := open(t, newStore(), all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		for range 150 { // 150 rounds of two seconds are five minutes
			w.send("b", time.Now(), 35)
			w.send("b", time.Now().Add(time.Second), 20)
			wait(2 * time.Second)
		}
		if opened, _ := r.counts(); opened < 4 {
			t.Errorf("%d openings are resent in five minutes, want one a minute", opened)
		}
	})
}

// slow is a receiver that needs six seconds for each refresh, and fails the first one.
type slow struct {
	forgetful
	parts []int // number of messages of each refresh
}

func (s *slow) Refresh(ctx context.Context, list []*notify.Message) error {
	select {
	case <-time.After(6 * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts = append(s.parts, len(list)); len(s.parts) == 1 {
		return errors.New("down")
	}
	return nil
}

// TestSender_ResendsInParts checks that many open alerts are resent in several requests, each with a
// time limit of its own. If one of them fails, the others must follow.
func TestSender_ResendsInParts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &slow{}
		w := open(t, newStore(), all(r))
		w.hot()
		w.openMany(250)
		wait(100 * time.Second) // one refresh, a minute after an empty one
		r.mu.Lock()
		defer r.mu.Unlock()
		if fmt.Sprint(r.parts) != "[100 100 50]" {
			t.Errorf("250 open alerts are resent in parts of %v, want [100 100 50]", r.parts)
		}
	})
}

// TestSender_ResendsToManyNotifiers checks that an open alert is resent to each of many notifiers.
func TestSender_ResendsToManyNotifiers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var targets []notify.Target
		var receivers []*forgetful
		for i := range 25 {
			r := &forgetful{resent: map[notify.Type]int{}}
			receivers = append(receivers, r)
			targets = append(targets, notify.Target{Name: fmt.Sprintf("n%02d", i), Notifier: r})
		}
		w := open(t, newStore(), targets...)
		w.hot()
		w.send("a", time.Now(), 35)
		wait(3 * time.Minute)
		for i, r := range receivers {
			if opened, _ := r.counts(); opened < 2 {
				t.Errorf("notifier %d: the open alert is resent %d times in three minutes, want 2 or more", i, opened)
			}
		}
	})
}

// TestSender_DeliversChangeLongAfterFailedOne lets a resolution fail after its outbox entry was
// written. Hours later, readings resolve the alert, and that resolution has the same version. It must be
// delivered.
func TestSender_DeliversChangeLongAfterFailedOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &forgetful{resent: map[notify.Type]int{}}
		s := &failing{Store: newStore(), prefix: "ALERT#"}
		w := open(t, s, all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		wait(5 * time.Second)
		s.fails.Store(true)
		if _, err := w.Alerts.ResolveAlert(t.Context(), tenant, r.messages[0].Alert.ID); err == nil {
			t.Error("the alert is resolved, although it cannot be written")
		}
		s.fails.Store(false)
		wait(2 * time.Hour)
		w.send("a", time.Now(), 20)
		wait(5 * time.Second)
		expect(t, &r.receiver, "opened a, resolved a by condition")
	})
}

// TestAlertmanager_SetsEndInFuture checks the ends of alerts. No end may be before the time of its message,
// because Alertmanager drops an alert whose end has passed, and sends no notification of it.
func TestAlertmanager_SetsEndInFuture(t *testing.T) {
	var got []struct {
		Labels, Annotations map[string]string
		StartsAt, EndsAt    time.Time
	}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.URL.Path != "/api/v2/alerts" || r.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
		}
	}))
	defer s.Close()
	now := noon
	a, err := notify.NewAlertmanager(s.URL+"/", "token", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	ended := noon.Add(-47 * time.Hour)
	for _, c := range []struct {
		late    bool
		kind    notify.Type
		advance time.Duration
		ends    time.Duration // expected end of the alert, after noon
	}{
		{false, notify.Opened, 0, 5 * time.Minute}, {false, notify.Resolved, 0, time.Minute}, {false, notify.Resolved, 2 * time.Minute, 2 * time.Minute},
		{false, notify.Opened, 10 * time.Minute, 15 * time.Minute}, {false, notify.Resolved, 10*time.Minute + 5*time.Second, 11 * time.Minute},
		{true, notify.Opened, 0, 5 * time.Minute}, {true, notify.Resolved, 0, 5 * time.Minute}, {true, notify.Resolved, 6 * time.Minute, 6 * time.Minute},
	} {
		now = noon.Add(c.advance)
		d := &notify.AlertData{
			ID: "id", Rule: "hot", Severity: "info", Device: "a", Message: "v > 30", Since: noon.Add(-48 * time.Hour), OpenedAt: noon.Add(-48 * time.Hour),
			KnownSince: noon, Late: c.late, State: string(alerts.Open),
		}
		if c.late {
			d.ID = "late"
		}
		if c.kind == notify.Resolved {
			d.ResolvedAt = &ended
		}
		if err := a.Send(t.Context(), &notify.Message{Type: c.kind, Time: noon, Alert: d}); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || !got[0].EndsAt.Equal(noon.Add(c.ends)) || !got[0].StartsAt.Equal(d.OpenedAt) || got[0].Labels["alertname"] != "hot" ||
			got[0].Annotations["since"] != "2026-11-16T12:00:00Z" || got[0].Labels["stream"] != "" {
			t.Errorf("late %t, %s after %s: %+v, want the end %s after noon", c.late, c.kind, c.advance, got, c.ends)
		}
	}
}
