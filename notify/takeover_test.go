package notify_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/store"
)

// process opens an engine of its own on a store that several processes share.
func process(t *testing.T, s store.Store, holder string, r notify.Notifier) *world {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{
		Store: unclosed{s}, Holder: holder, NoRollups: true, Notify: engine.Notify{Targets: []notify.Target{all(r)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{Engine: e, t: t}
}

// TestSender_DeliversOnceInManyProcesses checks that one of two processes delivers. If this process
// stops, the other one must continue.
func TestSender_DeliversOnceInManyProcesses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, r := newStore(), &receiver{}
		first := process(t, s, "first", r)
		wait(time.Second) // the first process acquires the lease
		second := process(t, s, "second", r)
		second.hot()
		wait(11 * time.Second) // every process knows the rule
		second.send("a", time.Now(), 35)
		wait(5 * time.Second)
		expect(t, r, "opened a")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second.send("a", time.Now(), 20)
		wait(5 * time.Second)
		expect(t, r, "opened a, resolved a by condition")
		if n := second.Sender.Stats()[0].Delivered; n != 1 {
			t.Errorf("the second process has delivered %d messages, want 1", n)
		}
		other, err := notify.Deliveries(t.Context(), s, notify.DeliveryList{Tenant: "other"})
		if err != nil || len(other.Items) != 0 {
			t.Errorf("another tenant sees %+v, %v", other.Items, err)
		}
	})
}

func TestDeliveries_HasPages(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		w := open(t, newStore(), all(r))
		w.hot()
		for _, device := range []string{"a", "b", "c"} {
			w.send(device, time.Now(), 35, 20)
			wait(5 * time.Second)
		}
		var got []string
		l := notify.DeliveryList{Tenant: tenant, State: notify.Delivered, Limit: 2}
		for {
			page, err := notify.Deliveries(t.Context(), w.Store, l)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range page.Items {
				got = append(got, d.Device+" "+string(d.Type))
			}
			if l.Cursor = page.Next; l.Cursor == "" {
				break
			}
		}
		if len(got) != 6 || got[0] != "c alert.resolved" || got[5] != "a alert.opened" {
			t.Errorf("%v, want the messages about c, b and a", got)
		}
		for _, bad := range []notify.DeliveryList{{State: "open"}, {Limit: -1}, {Cursor: "x"}} {
			if _, err := notify.Deliveries(t.Context(), w.Store, bad); err == nil {
				t.Errorf("%+v is accepted", bad)
			}
		}
	})
}
