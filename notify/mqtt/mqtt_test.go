package mqtt_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/notify/mqtt"
	"github.com/varvedb/varve/tests/varvetest"
)

// start starts a broker that accepts one user. It returns the broker, its address, and the messages
// that it receives.
func start(t *testing.T, address string) (*broker.Server, string, <-chan []byte) {
	t.Helper()
	s := broker.New(&broker.Options{InlineClient: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	ledger := &auth.Ledger{Auth: auth.AuthRules{{Username: "varve", Password: "secret", Allow: true}}}
	if err := s.AddHook(new(auth.Hook), &auth.Options{Ledger: ledger}); err != nil {
		t.Fatal(err)
	}
	l := listeners.NewTCP(listeners.Config{ID: "tcp", Address: address})
	if err := s.AddListener(l); err != nil {
		t.Fatal(err)
	}
	received := make(chan []byte, 8)
	if err := s.Subscribe("site/alerts", 1, func(_ *broker.Client, _ packets.Subscription, p packets.Packet) { received <- p.Payload }); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(); err != nil {
		t.Fatal(err)
	}
	return s, l.Address(), received
}

func send(t *testing.T, n *mqtt.Notifier, m *notify.Message) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return n.Send(ctx, m)
}

// TestNotifier_PublishesAndReconnects sends messages before and after a restart of the broker. The broker
// must receive them.
func TestNotifier_PublishesAndReconnects(t *testing.T) {
	s, address, received := start(t, "127.0.0.1:0")
	n, err := mqtt.New(mqtt.Options{URL: "mqtt://" + address, Topic: "site/alerts", User: "varve", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	m := notify.NewTest(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))
	for range 2 {
		if err := send(t, n, m); err != nil {
			t.Fatal(err)
		}
		var got struct{ ID, Type string }
		if err := json.Unmarshal(receive(t, received), &got); err != nil || got.ID != m.ID || got.Type != "alert.test" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := send(t, n, m); err == nil {
		t.Error("a message is delivered without a broker")
	}
	_, _, received = start(t, address)
	if !varvetest.Eventually(func() bool { return send(t, n, m) == nil }) { // the client may still be closing
		t.Fatal("no message is delivered after the restart")
	}
	receive(t, received)
}

func receive(t *testing.T, from <-chan []byte) []byte {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(20 * time.Second):
		t.Fatal("the broker has received no message")
		return nil
	}
}

func TestNotifier_FailsWithWrongPassword(t *testing.T) {
	_, address, _ := start(t, "127.0.0.1:0")
	n, err := mqtt.New(mqtt.Options{URL: "mqtt://" + address, User: "varve", Password: "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := send(t, n, notify.NewTest(time.Now())); err == nil {
		t.Error("a message is delivered with a wrong password")
	}
}

func TestNotifier_FailsWithoutBroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := mqtt.New(mqtt.Options{URL: "mqtt://" + address})
	if err != nil {
		t.Fatal(err)
	}
	if err := send(t, n, notify.NewTest(time.Now())); err == nil {
		t.Error("a message is delivered without a broker")
	}
	n.Close()
}

func TestNew_RejectsMistakes(t *testing.T) {
	for _, o := range []mqtt.Options{
		{}, {URL: "http://x"}, {URL: "broker:1883"}, {URL: "mqtt://u:p@x"}, {URL: "mqtt://x", Topic: "a/#"}, {URL: "mqtt://x", Topic: "+"},
	} {
		if _, err := mqtt.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestCheckTopic_NamesMistake checks the errors for topics to which no message can be published.
func TestCheckTopic_NamesMistake(t *testing.T) {
	for topic, want := range map[string]string{
		"": "", "alerts/site 7": "", strings.Repeat("a", 1024): "",
		"alerts/+": "without + and #", "alerts/#": "without + and #", "a\x00b": "without + and #",
		strings.Repeat("a", 1025): "has 1025 bytes: use at most 1024",
	} {
		err := mqtt.CheckTopic(topic)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", topic, err, want)
		}
	}
}
