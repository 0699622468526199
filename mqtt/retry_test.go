package mqtt_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/mqtt"
	"github.com/varvedb/varve/mqtt/topic"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// throttled is a store whose next writes of items with a prefix fail.
type throttled struct {
	store.Store
	prefix   string // of store.Key.PK
	failures atomic.Int64
}

func (s *throttled) PutAll(ctx context.Context, list []store.Item) error {
	if len(list) > 0 && strings.HasPrefix(list[0].PK, s.prefix) && s.failures.Add(-1) >= 0 {
		return errors.New("throttled")
	}
	return s.Store.PutAll(ctx, list)
}

// Put fails like PutAll.
func (s *throttled) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if strings.HasPrefix(it.PK, s.prefix) && s.failures.Add(-1) >= 0 {
		return errors.New("throttled")
	}
	return s.Store.Put(ctx, it, conds...)
}

// TestReceiver_RetriesWithSameTime checks that retries store a reading without a time once. The message
// has a valid and an invalid reading, and the reject fails after the valid reading is stored.
func TestReceiver_RetriesWithSameTime(t *testing.T) {
	const failures = 3
	const message = `[{"fields":{"a":1}},{"fields":{"a":[1e]}}]`
	for name, send := range map[string]func(*testing.T, *world, func() time.Time){
		"listener": func(t *testing.T, w *world, now func() time.Time) {
			d, _ := connect(t, w.listen(t, func(o *mqtt.ListenerOptions) { o.Now = now }), "c1", "", "")
			d.publish(t, "varve/w/d1", message)
		},
		"client": func(t *testing.T, w *world, now func() time.Time) {
			b := startBroker(t)
			w.client(t, b, func(o *mqtt.ClientOptions) { o.Now = now })
			b.publish(t, "varve/w/d1", message)
			within(t, "the acknowledgement", func() bool { return w.metrics.Received(mqtt.Rejected) == 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			advancing := func() time.Time { return noon.Add(time.Since(began)) }
			s := &throttled{Store: mem.New(advancing), prefix: "REJECT#"}
			w := newWorldOver(t, s, 10, advancing)
			s.failures.Store(failures)
			send(t, w, advancing)
			if n := w.metrics.Received(mqtt.Failed); n != failures {
				t.Errorf("%d attempts failed, want %d", n, failures)
			}
			if n := w.stored(t, varve.DefaultTenant, "d1"); n != 1 {
				t.Errorf("%d readings are stored, want 1", n)
			}
		})
	}
}

// TestReceiver_RetriesBeforeReject checks that a message whose end is not read is retried while a reading
// in it is unavailable, because its stream cannot be registered.
func TestReceiver_RetriesBeforeReject(t *testing.T) {
	s := &throttled{Store: mem.New(clock), prefix: "TENANT#"}
	w := newWorldOver(t, s, 10, clock)
	route, err := topic.Rule{Pattern: "l", Payload: "line"}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	r := mqtt.NewReceiver(mqtt.ReceiverOptions{
		Ingester: w.ingester, Table: topic.Table{route}, Now: clock, MaxMessage: 64 << 20, Metrics: w.metrics, Rejects: w,
	})
	m := &topic.Message{Topic: "l", Payload: []byte("w,device=d1 a=1\n" + strings.Repeat("\n", 34<<20)), At: noon}
	s.failures.Store(1)
	for _, want := range []mqtt.Outcome{mqtt.Failed, mqtt.Unreadable} {
		result, err := r.Receive(t.Context(), mqtt.Sender{Grant: apikeys.Everything()}, m)
		if result.Outcome != want {
			t.Errorf("the message is %s, %v, want %s", result.Outcome, err, want)
		}
	}
	if n := w.stored(t, varve.DefaultTenant, "d1"); n != 1 {
		t.Errorf("%d readings are stored, want 1", n)
	}
}
