// Package mqtt delivers alerts to an MQTT broker.
//
//	notify.Sender ── Notifier ── publish, QoS 1 ──▶ broker
//
// [Notifier] connects before it sends the first message, and reconnects before a message if the
// connection was lost. A message is delivered once the broker has acknowledged it.
//
// An error means that the broker may or may not have the message. The sender retries with the same
// id. [CheckURL] and [CheckTopic] find invalid settings before the start. A Notifier is safe for
// concurrent use.
package mqtt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"github.com/varvedb/varve/notify"
)

// DefaultTopic is the topic of messages if none is configured.
const DefaultTopic = "varve/alerts"

const connectTimeout = 5 * time.Second

// Options configure a notifier. URL is required.
type Options struct {
	URL            string // mqtt://host:1883, or mqtts://host:8883 for TLS
	Topic          string // if empty, DefaultTopic
	User, Password string
}

// Notifier publishes each message, as JSON with its id, to one topic.
type Notifier struct {
	topic  string
	client paho.Client

	connecting sync.Mutex
}

// New returns a notifier without a connection. Send connects.
func New(o Options) (*Notifier, error) {
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	if o.Topic == "" {
		o.Topic = DefaultTopic
	}
	if err := CheckTopic(o.Topic); err != nil {
		return nil, err
	}
	c := paho.NewClientOptions().AddBroker(o.URL).SetClientID("varve-" + rand.Text()[:12]).SetUsername(o.User).SetPassword(o.Password).
		SetConnectTimeout(connectTimeout).SetAutoReconnect(false).SetConnectRetry(false).SetCleanSession(true)
	return &Notifier{topic: o.Topic, client: paho.NewClient(c)}, nil
}

// CheckURL returns an error for a URL that does not name a broker.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "mqtt" && u.Scheme != "mqtts":
		return errors.New("not a broker, as in mqtt://broker.example.com:1883 or mqtts://broker.example.com:8883")
	case u.User != nil:
		return errors.New("has a password: use user, and secret_file or secret_env")
	}
	return nil
}

const maxTopic = 1024 // in bytes

// CheckTopic returns an error for a topic with a wildcard or a NUL byte, or of more than maxTopic bytes. An
// empty topic is accepted, because New replaces it with DefaultTopic.
func CheckTopic(topic string) error {
	if len(topic) > maxTopic {
		return fmt.Errorf("the topic has %d bytes: use at most %d", len(topic), maxTopic)
	}
	if strings.ContainsAny(topic, "+#\x00") {
		return fmt.Errorf("%q is a pattern: use a topic without + and #", topic)
	}
	return nil
}

// Send implements notify.Notifier.
func (n *Notifier) Send(ctx context.Context, m *notify.Message) error {
	body, err := m.Envelope()
	if err != nil {
		return err
	}
	if err := n.connect(ctx); err != nil {
		return err
	}
	return wait(ctx, n.client.Publish(n.topic, 1, false, body))
}

// connect connects to the broker, unless a connection exists.
func (n *Notifier) connect(ctx context.Context) error {
	n.connecting.Lock()
	defer n.connecting.Unlock()
	if n.client.IsConnectionOpen() {
		return nil
	}
	if err := wait(ctx, n.client.Connect()); err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	return nil
}

// wait returns the error of an operation after its end, or the error of ctx if ctx ends first.
func wait(ctx context.Context, t paho.Token) error {
	select {
	case <-t.Done():
		return t.Error()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close disconnects from the broker, if a connection exists.
func (n *Notifier) Close() {
	if n.client.IsConnectionOpen() {
		n.client.Disconnect(uint(connectTimeout / time.Millisecond / 20))
	}
}
