package notify_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/store"
)

// failing is a store that fails to write items with a prefix while the field "fails" is true.
type failing struct {
	store.Store
	prefix string // prefix of the sort keys
	fails  atomic.Bool
}

func (s *failing) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if s.fails.Load() && strings.HasPrefix(it.SK, s.prefix) {
		return errors.New("the disk is full")
	}
	return s.Store.Put(ctx, it, conds...)
}

func TestSender_DeliversOpeningAndResolution(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		w := open(t, newStore(), all(r))
		w.hot()
		at := time.Now()
		w.send("a", at, 35)
		wait(5 * time.Second)
		expect(t, r, "opened a")
		m := r.messages[0].Alert
		if !m.Since.Equal(at) || !m.KnownSince.Equal(at) || m.Late || m.Rule != "hot" || m.Severity != "warning" || string(m.Value) != "35" || m.State != "open" {
			t.Errorf("%+v", m)
		}
		w.send("a", at.Add(6*time.Second), 20)
		wait(5 * time.Second)
		expect(t, r, "opened a, resolved a by condition")
		if n := w.entries(); n != 0 {
			t.Errorf("%d entries remain in the outbox", n)
		}
	})
}

// TestSender_DeliversInOrderOfEvents checks an alert that opens and is resolved before it is delivered.
// Both messages must be sent, and the messages about a device must follow the event times.
func TestSender_DeliversInOrderOfEvents(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{fault: func(*notify.Message) error { return errors.New("down") }}
		w := open(t, newStore(), all(r))
		w.hot()
		at := time.Now()
		w.send("a", at.Add(10*time.Second), 35, 20)
		wait(3 * time.Second)
		w.send("a", at, 20, 35, 20)
		wait(3 * time.Second)
		r.setFault(nil)
		wait(time.Minute)
		expect(t, r, "opened a, resolved a by condition, opened a, resolved a by condition")
		if got := r.messages[0].Alert.Since; !got.Equal(at.Add(time.Second)) {
			t.Errorf("the first message is about %s, want the earlier alert", got)
		}
	})
}

// counting is a store that counts the reads of the outbox.
type counting struct {
	store.Store
	reads atomic.Int64
}

func (s *counting) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	if q.PK == "OUTBOX" && q.After == nil {
		s.reads.Add(1)
	}
	return s.Store.Query(ctx, q)
}

// TestSender_ReadsOutboxOncePerRound delivers alerts in many batches, all before the next tick. The
// batches must not reread the outbox.
func TestSender_ReadsOutboxOncePerRound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		s := &counting{Store: newStore()}
		w := open(t, s, all(r))
		w.hot()
		wait(time.Second)
		const n = 600 // three batches
		w.openMany(n)
		before := s.reads.Load()
		wait(2 * time.Second)
		if got := w.Sender.Stats()[0].Delivered; got != n {
			t.Errorf("%d messages are delivered in one round, want %d", got, n)
		}
		if got := s.reads.Load() - before; got != 1 {
			t.Errorf("the outbox is read %d times in one round, want 1", got)
		}
		if n := w.entries(); n != 0 {
			t.Errorf("%d entries remain in the outbox", n)
		}
	})
}

func TestSender_RetriesForADay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{fault: func(*notify.Message) error { return errors.New("down") }}
		w := open(t, newStore(), all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		wait(23 * time.Hour)
		s := w.Sender.Stats()[0]
		if s.Pending != 1 || s.Failed != 0 || time.Since(s.Oldest) < 22*time.Hour || s.Retried < 100 || s.Retried > 400 {
			t.Errorf("after 23 hours: %+v", s)
		}
		wait(2 * time.Hour)
		if s := w.Sender.Stats()[0]; s.Pending != 0 || s.Failed != 1 {
			t.Errorf("after a day: %+v", s)
		}
		page, err := notify.Deliveries(t.Context(), w.Store, notify.DeliveryList{Tenant: tenant, State: notify.Failed})
		if err != nil || len(page.Items) != 1 || page.Items[0].Error != "down" || page.Items[0].Attempts < 100 {
			t.Errorf("%+v, %v", page, err)
		}
		r.setFault(nil)
		w.send("a", time.Now(), 20)
		wait(5 * time.Second)
		expect(t, r, "resolved a by condition") // the resolution is delivered although the opening failed
	})
}

func TestSender_GivesUpRefusedMessagesEarlier(t *testing.T) {
	for _, c := range []struct {
		fault notify.Fault
		after time.Duration
	}{{notify.Refused, notify.GiveUpRefused}, {notify.Gone, 0}} {
		inBubble(t, func(t *testing.T) {
			r := &receiver{fault: func(*notify.Message) error { return &notify.SendError{Fault: c.fault, Err: errors.New("no")} }}
			w := open(t, newStore(), all(r))
			w.hot()
			w.send("a", time.Now(), 35)
			if c.after > 0 {
				wait(c.after - time.Minute)
				if s := w.Sender.Stats()[0]; s.Failed != 0 {
					t.Errorf("fault %d: %+v before %s", c.fault, s, c.after)
				}
			}
			wait(15 * time.Minute)
			if s := w.Sender.Stats()[0]; s.Failed != 1 {
				t.Errorf("fault %d: %+v after %s", c.fault, s, c.after)
			}
		})
	}
}

// TestSender_RetriesRefusedMessagesAfterOutage lets a receiver be down for two hours, and refuse
// messages for half an hour after that. No message may be lost.
func TestSender_RetriesRefusedMessagesAfterOutage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{fault: func(*notify.Message) error { return errors.New("down") }}
		w := open(t, newStore(), all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		wait(2 * time.Hour)
		r.setFault(func(*notify.Message) error { return &notify.SendError{Fault: notify.Refused, Err: errors.New("no")} })
		wait(30 * time.Minute)
		r.setFault(nil)
		wait(15 * time.Minute)
		if s := w.Sender.Stats()[0]; s.Failed != 0 || s.Delivered != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestSender_ResumesAfterRestart checks that another process delivers the messages that a closed
// process has left, with the same ids.
func TestSender_ResumesAfterRestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var ids []string
		r := &receiver{fault: func(m *notify.Message) error {
			ids = append(ids, m.ID)
			return errors.New("the answer is lost")
		}}
		s := newStore()
		w := open(t, unclosed{s}, all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		wait(3 * time.Second)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		again := &receiver{}
		open(t, s, all(again))
		wait(time.Minute)
		expect(t, again, "opened a")
		if len(ids) == 0 || again.messages[0].ID != ids[0] {
			t.Errorf("ids %v before the restart, %s after it", ids, again.messages[0].ID)
		}
	})
}

func TestSender_SendsOneDigestOfLateAlerts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		w := open(t, newStore(), all(r))
		w.hot()
		const devices, each = 20, 50
		from := time.Now().Add(-100 * time.Hour)
		for d := range devices {
			var values []int64
			for range each {
				values = append(values, 35, 20)
			}
			w.send(string(rune('a'+d)), from, values...)
		}
		wait(4 * time.Minute)
		expect(t, r, "")
		wait(2 * time.Minute)
		expect(t, r, "digest 1000 opened 1000 resolved 0 open 20 devices")
		if d := r.messages[0].Digest; !d.From.Equal(from) || !d.To.Equal(from.Add(99*time.Second)) || d.Rule != "hot" || d.Command == "" {
			t.Errorf("%+v", d)
		}
		w.send("a", time.Now(), 35)
		wait(3 * time.Second)
		expect(t, r, "digest 1000 opened 1000 resolved 0 open 20 devices, opened a")
		if n := w.entries(); n != 0 {
			t.Errorf("%d entries remain in the outbox", n)
		}
	})
}

func TestSender_FollowsLateMode(t *testing.T) {
	for mode, want := range map[alerts.LateMode]string{
		"": "digest 1 opened 1 resolved 0 open 1 devices", alerts.LateDigest: "digest 1 opened 1 resolved 0 open 1 devices",
		alerts.LateNotify: "opened a late, resolved a by condition late", alerts.LateSilent: "",
	} {
		inBubble(t, func(t *testing.T) {
			r := &receiver{}
			w := open(t, newStore(), all(r))
			w.hot(func(r *alerts.Rule) { r.Late = mode })
			w.send("a", time.Now().Add(-time.Hour), 35, 20)
			wait(6 * time.Minute)
			expect(t, r, want)
			if n := w.Sender.SilentCount(); (n == 2) != (mode == alerts.LateSilent) {
				t.Errorf("mode %q: %d silent deliveries", mode, n)
			}
		})
	}
}

func TestSender_RetriesDigestUnchanged(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ids := map[string]int{}
		r := &receiver{fault: func(m *notify.Message) error {
			ids[m.ID]++
			return errors.New("down")
		}}
		w := open(t, newStore(), all(r))
		w.hot()
		w.send("a", time.Now().Add(-2*time.Hour), 35, 20)
		wait(10 * time.Minute)
		w.send("b", time.Now().Add(-2*time.Hour), 35)
		wait(10 * time.Minute)
		if len(ids) != 2 {
			t.Errorf("%d digests, want 2: %v", len(ids), ids)
		}
		r.setFault(nil)
		wait(30 * time.Minute)
		if got := r.log(); got != "digest 1 opened 1 resolved 0 open 1 devices, digest 1 opened 0 resolved 1 open 1 devices" &&
			got != "digest 1 opened 0 resolved 1 open 1 devices, digest 1 opened 1 resolved 0 open 1 devices" {
			t.Errorf("received %q", got)
		}
	})
}

// TestSender_RestsIfResultsCannotBeStored checks that a message is not sent at every read of the
// outbox while the registry fails, and that it is delivered afterward.
func TestSender_RestsIfResultsCannotBeStored(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &failing{Store: newStore(), prefix: "DELIVERY#"}
		r := &receiver{fault: func(*notify.Message) error {
			s.fails.Store(true)
			return nil
		}}
		w := open(t, s, all(r))
		w.hot()
		w.send("a", time.Now(), 35)
		wait(10 * time.Minute)
		if n := len(r.messages); n < 2 || n > 21 {
			t.Errorf("the message is sent %d times in 10 minutes, want about 20", n)
		}
		r.setFault(nil)
		s.fails.Store(false)
		wait(time.Minute)
		if n := w.entries(); n != 0 {
			t.Errorf("%d entries remain in the outbox", n)
		}
	})
}

// TestSender_RecordsResultAfterFailedLeaseCheck sends a message while the lease must be extended, and the extension
// fails once. The result of the message must be recorded later.
func TestSender_RecordsResultAfterFailedLeaseCheck(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &failing{Store: newStore(), prefix: "notify"}
		r := &receiver{}
		w := open(t, s, all(r)) // acquires the lease for 30 seconds
		w.hot()
		wait(13 * time.Second)
		r.setFault(func(*notify.Message) error {
			r.setFault(nil)
			<-time.After(1500 * time.Millisecond) // until the second half of the lease
			s.fails.Store(true)
			time.AfterFunc(100*time.Millisecond, func() { s.fails.Store(false) })
			return nil
		})
		w.send("a", time.Now(), 35)
		wait(2 * time.Minute)
		list, err := notify.Deliveries(t.Context(), s, notify.DeliveryList{Tenant: tenant})
		if err != nil || len(list.Items) != 1 || list.Items[0].State != notify.Delivered {
			t.Errorf("%+v, %v, want one delivered message", list.Items, err)
		}
		if n := w.entries(); n != 0 {
			t.Errorf("%d entries remain in the outbox", n)
		}
	})
}
