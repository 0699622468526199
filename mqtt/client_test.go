package mqtt_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v5 "github.com/eclipse/paho.golang/paho"
	server "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/mqtt"
)

type broker struct {
	*server.Server
	address string
	stopped bool
}

func (b *broker) stop() {
	if !b.stopped {
		b.stopped = true
		_ = b.Close() // a connection that failed may have closed the listener already
	}
}

func startBroker(t *testing.T) *broker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(&server.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	if err := errors.Join(s.AddHook(new(auth.AllowHook), nil), s.AddListener(listeners.NewNet("l", l)), s.Serve()); err != nil {
		t.Fatal(err)
	}
	b := &broker{Server: s, address: l.Addr().String()}
	t.Cleanup(b.stop)
	return b
}

func (b *broker) publish(t *testing.T, topic, payload string) {
	t.Helper()
	if err := b.Publish(topic, []byte(payload), false, 1); err != nil {
		t.Fatal(err)
	}
}

// unacknowledged returns the number of messages that a client has not acknowledged. It returns -1
// if the broker does not know the client.
func (b *broker) unacknowledged(id string) int {
	c, ok := b.Clients.Get(id)
	if !ok {
		return -1
	}
	return c.State.Inflight.Len()
}

// client starts a broker client, and waits until it is connected.
func (w *world) client(t *testing.T, b *broker, change ...func(*mqtt.ClientOptions)) *mqtt.Client {
	t.Helper()
	o := mqtt.ClientOptions{
		Receiver: w.receiver, Metrics: w.metrics, URL: "mqtt://" + b.address, ClientID: "varve", Protocol: "auto", Filters: []string{"varve/+/+", "t/#"},
		Tenant: varve.DefaultTenant, Window: 1000, Session: time.Hour, Conditions: w.conditions, Now: clock,
	}
	for _, c := range change {
		c(&o)
	}
	c := mqtt.StartClient(o)
	t.Cleanup(c.Close)
	within(t, "the connection", func() bool { return c.Status().Connected })
	return c
}

var protocols = []string{"5", "3.1.1"}

func protocol(p string) func(*mqtt.ClientOptions) {
	return func(o *mqtt.ClientOptions) { o.Protocol = p }
}

// TestClient_StoresAndAcknowledges checks that messages are stored, and that all are acknowledged,
// also rejected ones.
func TestClient_StoresAndAcknowledges(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			w, b := newWorld(t, 1000), startBroker(t)
			c := w.client(t, b, protocol(p))
			for i := range 500 {
				b.publish(t, "varve/w/d1", reading(i))
			}
			b.publish(t, "varve/w/d1", "x")
			b.publish(t, "t/acme/w/d1", reading(0))
			b.publish(t, "t/other", reading(0))
			within(t, "500 readings", func() bool { return w.stored(t, "default", "d1") == 500 })
			within(t, "acknowledgements", func() bool { return b.unacknowledged("varve") == 0 })
			if n := w.stored(t, "acme", "d1"); n != 1 || len(w.rejected(t)) != 2 {
				t.Errorf("%d readings in the tenant of the topic and %d rejects, want 1 and 2", n, len(w.rejected(t)))
			}
			if s := c.Status(); s.Protocol != p || s.Messages != 503 || s.Connects != 1 || s.Dropped != nil {
				t.Errorf("the status is %+v", s)
			}
		})
	}
}

// TestClient_WaitsForStore checks that messages are not acknowledged while the store is busy, and
// are stored afterward.
func TestClient_WaitsForStore(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			w, b := newWorld(t, 1), startBroker(t)
			w.client(t, b, protocol(p))
			release := w.occupy(t)
			for i := range 10 {
				b.publish(t, "varve/w/d1", reading(i))
			}
			within(t, "a first attempt", func() bool { return w.metrics.Received(mqtt.Failed) >= 10 })
			if n := b.unacknowledged("varve"); n != 10 {
				t.Errorf("%d messages are not acknowledged, want 10", n)
			}
			release()
			within(t, "10 readings", func() bool { return w.stored(t, "default", "d1") == 10 })
			within(t, "acknowledgements", func() bool { return b.unacknowledged("varve") == 0 })
		})
	}
}

// TestClient_DisconnectsAfterPatience checks that the client disconnects if messages cannot be stored
// for the duration Patience. The client must store and acknowledge the messages when the broker resends
// them.
func TestClient_DisconnectsAfterPatience(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			w, b := newWorld(t, 1), startBroker(t)
			c := w.client(t, b, protocol(p), func(o *mqtt.ClientOptions) { o.Patience = 50 * time.Millisecond })
			release := w.occupy(t)
			for i := range 10 {
				b.publish(t, "varve/w/d1", reading(i))
			}
			within(t, "the end of the connection", func() bool { return strings.Contains(c.Status().LastError, "too many writes") })
			if n := b.unacknowledged("varve"); n != 10 {
				t.Errorf("%d messages are not acknowledged, want 10", n)
			}
			release()
			within(t, "10 readings", func() bool { return w.stored(t, "default", "d1") == 10 })
			within(t, "acknowledgements", func() bool { return b.unacknowledged("varve") == 0 })
		})
	}
}

// TestTLS_IsCheckedAndUsed checks that the client connects with TLS to a broker, and refuses a certificate
// that it does not know. Varve's listener, with TLS, serves as the broker.
func TestTLS_IsCheckedAndUsed(t *testing.T) {
	web := httptest.NewTLSServer(http.NotFoundHandler()) // the certificate of this server is for 127.0.0.1
	defer web.Close()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	w := newWorld(t, 10)
	// The listener serves as the broker. It sends no messages, but accepts subscriptions.
	address := w.listen(t, func(o *mqtt.ListenerOptions) { o.TLS = &tls.Config{Certificates: web.TLS.Certificates} })
	for _, p := range protocols {
		o := mqtt.ClientOptions{
			Receiver: w.receiver, Metrics: w.metrics, URL: "mqtts://" + address, ClientID: "varve", Protocol: p, Filters: []string{"varve/+/+"},
			Window: 10, Session: time.Hour, Now: clock,
		}
		c := mqtt.StartClient(o)
		within(t, "a refusal", func() bool { return strings.Contains(c.Status().LastError, "certificate signed by unknown authority") })
		c.Close()
		o.TLS = &tls.Config{RootCAs: roots}
		c = mqtt.StartClient(o)
		within(t, "a connection", func() bool { return c.Status().Connected })
		c.Close()
	}
}

func TestClient_AcknowledgesInOrder(t *testing.T) {
	w, b := newWorld(t, 1000), startBroker(t)
	w.client(t, b)
	w.failRejects(errors.New("the store failed"))
	b.publish(t, "varve/w/d1", reading(0))
	within(t, "the first acknowledgement", func() bool { return w.stored(t, "default", "d1") == 1 && b.unacknowledged("varve") == 0 })
	b.publish(t, "varve/w/d1", "x") // an invalid message, which cannot be stored as a reject until failRejects(nil)
	for i := range 9 {
		b.publish(t, "varve/w/d1", reading(i+1))
	}
	within(t, "10 readings", func() bool { return w.stored(t, "default", "d1") == 10 })
	if n := b.unacknowledged("varve"); n != 10 {
		t.Errorf("%d messages are not acknowledged, want 10", n)
	}
	w.failRejects(nil)
	within(t, "acknowledgements", func() bool { return b.unacknowledged("varve") == 0 })
	if len(w.rejected(t)) != 1 {
		t.Errorf("%d rejects, want 1", len(w.rejected(t)))
	}
}

// TestClient_ResumesSession checks that a client stores the messages that were published while no client
// was connected. Close must acknowledge all messages before it disconnects.
func TestClient_ResumesSession(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			w, b := newWorld(t, 1000), startBroker(t)
			for round := range 3 {
				c := w.client(t, b, protocol(p))
				for i := range 50 {
					b.publish(t, "varve/w/d1", reading(100*round+i))
				}
				within(t, "a message", func() bool { return c.Status().Messages > 0 })
				c.Close()
				for i := range 50 {
					b.publish(t, "varve/w/d1", reading(100*round+50+i))
				}
			}
			w.client(t, b, protocol(p))
			within(t, "300 readings", func() bool { return w.stored(t, "default", "d1") == 300 })
			within(t, "acknowledgements", func() bool { return b.unacknowledged("varve") == 0 })
		})
	}
}

func TestClient_ReportsLostBroker(t *testing.T) {
	w, b := newWorld(t, 10), startBroker(t)
	c := w.client(t, b)
	b.stop()
	within(t, "the condition", func() bool { return w.conditions.Holds(health.BrokerUnreachable) })
	if s := c.Status(); s.Connected || s.LastError == "" {
		t.Errorf("the status is %+v", s)
	}
}

func TestClient_ReportsRefusedSubscription(t *testing.T) {
	for _, p := range protocols {
		w, b := newWorld(t, 10), startBroker(t)
		if err := b.AddHook(new(denyHook), nil); err != nil {
			t.Fatal(err)
		}
		c := mqtt.StartClient(mqtt.ClientOptions{
			Receiver: w.receiver, Metrics: w.metrics, URL: "mqtt://" + b.address, ClientID: "varve", Protocol: p, Filters: []string{"varve/+/+", "secret/#"},
			Window: 10, Session: time.Hour, Conditions: w.conditions, Now: clock,
		})
		within(t, "the refusal", func() bool {
			return strings.Contains(c.Status().LastError, "the broker refuses the subscription to secret/# with code")
		})
		c.Close()
	}
}

// denyHook makes a broker refuse subscriptions to the topics below secret.
type denyHook struct{ server.HookBase }

func (*denyHook) ID() string           { return "deny" }
func (*denyHook) Provides(b byte) bool { return b == server.OnSubscribe }
func (*denyHook) OnSubscribe(_ *server.Client, pk packets.Packet) packets.Packet {
	for i := range pk.Filters {
		if strings.HasPrefix(pk.Filters[i].Filter, "secret") {
			pk.Filters[i].Filter = "$share/" // an invalid filter, which the server refuses
		}
	}
	return pk
}

// TestClient_WatchesDroppedMessages checks the condition and the status after the broker reported
// dropped messages.
func TestClient_WatchesDroppedMessages(t *testing.T) {
	w, b := newWorld(t, 10), startBroker(t)
	c := w.client(t, b)
	for i, n := range []int{7, 7, 12} {
		b.publish(t, "$SYS/broker/publish/messages/dropped", fmt.Sprint(n))
		within(t, "the report", func() bool { d := c.Status().Dropped; return d != nil && d.Total == int64(n) })
		if got, want := w.conditions.Holds(health.BrokerDropping), i == 2; got != want {
			t.Errorf("after %d dropped messages, the condition holds: %t", n, got)
		}
	}
	if d := c.Status().Dropped; d.Seen != 5 || d.Last == nil {
		t.Errorf("the status is %+v", d)
	}
	within(t, "acknowledgements", func() bool { return b.unacknowledged("varve") == 0 })
}

func TestClient_AnswersToResponseTopic(t *testing.T) {
	w, b := newWorld(t, 10), startBroker(t)
	w.client(t, b)
	d, _ := connect(t, b.address, "d1", "", "")
	if _, err := d.Subscribe(t.Context(), &v5.Subscribe{Subscriptions: []v5.SubscribeOptions{{Topic: "answers/d1"}}}); err != nil {
		t.Fatal(err)
	}
	d.publish(t, "varve/w/d1", reading(1), func(p *v5.Publish) {
		p.Properties.ResponseTopic, p.Properties.CorrelationData = "answers/d1", []byte("7")
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case got := <-d.received:
		if want := `{"stored":1,"duplicates":0,"rejected":0,"rejects":[]}`; string(got.Payload) != want || string(got.Properties.CorrelationData) != "7" {
			t.Errorf("the answer is %s with %q, want %s", got.Payload, got.Properties.CorrelationData, want)
		}
	case <-ctx.Done():
		t.Error("no answer")
	}
}

// TestClient_IgnoresRetainedMessages checks that the client does not store copies of old messages,
// which the broker retained.
func TestClient_IgnoresRetainedMessages(t *testing.T) {
	w, b := newWorld(t, 10), startBroker(t)
	if err := b.Publish("varve/w/d1", []byte(reading(1)), true, 1); err != nil {
		t.Fatal(err)
	}
	w.client(t, b)
	b.publish(t, "varve/w/d1", reading(2))
	within(t, "both messages", func() bool { return w.metrics.Received(mqtt.Stored) == 1 && w.metrics.Received(mqtt.Ignored) == 1 })
	if n := w.stored(t, "default", "d1"); n != 1 {
		t.Errorf("%d readings are stored, want 1", n)
	}
}

// TestClient_CutsLongMessages checks that a message far above the maximum becomes a reject with its
// beginning, and that the next message is stored.
func TestClient_CutsLongMessages(t *testing.T) {
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) {
			w, b := newWorld(t, 10), startBroker(t)
			w.client(t, b, protocol(p))
			b.publish(t, "varve/w/d1", strings.Repeat("x", 3<<20))
			b.publish(t, "varve/w/d1", reading(1))
			within(t, "a reading", func() bool { return w.stored(t, varve.DefaultTenant, "d1") == 1 })
			within(t, "acknowledgements", func() bool { return b.unacknowledged("varve") == 0 })
			const message = "the message has at least 2000 bytes: send at most 1000, see mqtt.max_message"
			if list := w.rejected(t); len(list) != 1 || list[0].Message != message {
				t.Errorf("the rejects are %+v, want one: %s", list, message)
			}
		})
	}
}

// TestClient_StoresMessagesWithLongProperties checks that properties of MQTT 5 above the maximum length neither cut
// the payload nor end the connection.
func TestClient_StoresMessagesWithLongProperties(t *testing.T) {
	w, b := newWorld(t, 10), startBroker(t)
	w.client(t, b, protocol("5"))
	d, _ := connect(t, b.address, "d1", "", "")
	for i, size := range []int{60_000, 67_500, 130_000} { // the limit of a packet is 67,540 bytes
		d.publish(t, "varve/w/d1", reading(i), func(p *v5.Publish) {
			half := strings.Repeat("x", size/2)
			p.Properties.ContentType, p.Properties.CorrelationData = half, []byte(half)
		})
	}
	within(t, "three readings", func() bool { return w.stored(t, varve.DefaultTenant, "d1") == 3 })
}
