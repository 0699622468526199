package mqtt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/log"
)

// ackInterval is the interval at which acknowledgements are sent. With the library's default of 50 ms,
// brokers reach the limit of unacknowledged messages, and drop further ones.
const ackInterval = time.Millisecond

// answerLimit limits the wait for the answer to a subscription or, with MQTT 3.1.1, to a ping. It
// is long, because the broker may send a backlog of messages before the answer.
const answerLimit = 24 * time.Hour

// pinger sends pings at regular intervals. It ignores the answers, because the type watched detects a
// silent broker.
type pinger struct{}

// Run implements paho.Pinger.
func (pinger) Run(ctx context.Context, conn net.Conn, interval uint16) error {
	tick := time.NewTicker(time.Duration(interval) * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, err := packets.NewControlPacket(packets.PINGREQ).WriteTo(conn); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// PacketSent implements paho.Pinger.
func (pinger) PacketSent() {}

// PacketReceived implements paho.Pinger.
func (pinger) PacketReceived() {}

// PingResp implements paho.Pinger.
func (pinger) PingResp() {}

// SetDebug implements paho.Pinger.
func (pinger) SetDebug(log.Logger) {}

type link5 struct {
	*failure
	client *paho.Client
}

// connect5 connects with MQTT 5. The function "receive" is called for each message, in order. While
// it blocks, no further message is read.
func connect5(ctx context.Context, o *ClientOptions, receive func(*message)) (link, error) {
	conn, err := dial(ctx, o.URL, o.TLS)
	if err != nil {
		return nil, err
	}
	l := &link5{failure: newFailure()}
	l.client = paho.NewClient(paho.ClientConfig{
		ClientID: o.ClientID, Conn: newBufferedConn(conn, o, true), PacketTimeout: answerLimit, PingHandler: pinger{},
		EnableManualAcknowledgment: true, SendAcksInterval: ackInterval,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			receive(l.message(p.Packet))
			return true, nil
		}},
		OnClientError: func(err error) { l.set(err) },
		OnServerDisconnect: func(d *paho.Disconnect) {
			reason := fmt.Sprintf("the broker disconnected with code 0x%02x", d.ReasonCode)
			if d.ReasonCode == packets.DisconnectSessionTakenOver {
				reason += ": another client has the same mqtt.client_id, but each process needs its own"
			}
			if d.Properties != nil && d.Properties.ReasonString != "" {
				reason += ": " + d.Properties.ReasonString
			}
			l.set(errors.New(reason))
		},
	})
	session, window := uint32(min(o.Session/time.Second, 1<<32-2)), uint16(o.Window) //nolint:gosec // the configuration limits both
	connect := &paho.Connect{
		ClientID: o.ClientID, KeepAlive: keepAlive,
		Properties: &paho.ConnectProperties{SessionExpiryInterval: &session, ReceiveMaximum: &window},
	}
	if o.User != "" {
		connect.UsernameFlag, connect.Username = true, o.User
	}
	if o.Password != "" {
		connect.PasswordFlag, connect.Password = true, []byte(o.Password)
	}
	limited, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	answer, err := l.client.Connect(limited, connect)
	switch {
	case err == nil:
		return l, nil
	case answer == nil:
		return nil, errors.Join(errVersion, err) // a broker of an older version answers in its own format, or not at all
	case answer.ReasonCode == packets.ConnackUnsupportedProtocolVersion:
		return nil, errVersion
	}
	return nil, connectError(answer.ReasonCode)
}

func connectError(code byte) error {
	meaning := map[byte]string{
		packets.ConnackInvalidClientID: "it does not accept mqtt.client_id", packets.ConnackBadUsernameOrPassword: "mqtt.user or the password is wrong",
		packets.ConnackNotAuthorized: "mqtt.user may not connect", packets.ConnackServerUnavailable: "it is not available",
		packets.ConnackServerBusy: "it is busy", packets.ConnackBanned: "mqtt.user is banned", packets.ConnackBadAuthenticationMethod: "it wants another way of authentication",
		packets.ConnackUseAnotherServer: "it names another broker", packets.ConnackServerMoved: "it moved to another address",
	}[code]
	if meaning == "" {
		meaning = "see its log"
	}
	return fmt.Errorf("the broker refuses the connection with code 0x%02x: %s", code, meaning)
}

func (l *link5) message(p *paho.Publish) *message {
	m := &message{qos: p.QoS, retained: p.Retain}
	m.Topic, m.Payload = p.Topic, p.Payload
	if p.Properties != nil {
		m.answerTo, m.correlation = p.Properties.ResponseTopic, p.Properties.CorrelationData
	}
	m.ack = func() error { return l.client.Ack(p) }
	return m
}

func (l *link5) subscribe(ctx context.Context, filters []string) error {
	for try := 0; ; try++ {
		filter, code, err := l.subscribeOnce(ctx, filters)
		if code != packets.SubackPacketIdentifierinuse || try == subscribeTries {
			if code >= 0x80 {
				err = refused(filter, code)
			}
			return err
		}
		// Some brokers use one set of packet ids for both directions. The packet id of the subscription is
		// free again after the messages of the session are acknowledged, so retry after a pause.
		timer := time.NewTimer(subscribePause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// The number of retries of a subscription whose packet id is in use, and the pause between them.
const (
	subscribeTries = 100
	subscribePause = 50 * time.Millisecond
)

// subscribeOnce subscribes to topic filters. If the broker refuses a filter, subscribeOnce returns the
// filter and the reason code of the broker.
func (l *link5) subscribeOnce(ctx context.Context, filters []string) (filter string, code byte, err error) {
	s := &paho.Subscribe{}
	for _, f := range filters {
		s.Subscriptions = append(s.Subscriptions, paho.SubscribeOptions{Topic: f, QoS: qosOf(f)})
	}
	answer, err := l.client.Subscribe(ctx, s)
	if answer != nil {
		for i, code := range answer.Reasons {
			if code >= 0x80 && i < len(filters) {
				return filters[i], code, nil
			}
		}
	}
	return "", 0, err
}

func (l *link5) publish(ctx context.Context, topic string, payload, correlation []byte) error {
	_, err := l.client.Publish(ctx, &paho.Publish{
		Topic: topic, Payload: payload,
		Properties: &paho.PublishProperties{ContentType: "application/json", CorrelationData: correlation},
	})
	return err
}

func (l *link5) close() {
	select {
	case <-l.failed():
	case <-time.After(10 * ackInterval): // lets the library send pending acknowledgements, which it does once per ackInterval
	}
	_ = l.client.Disconnect(&paho.Disconnect{}) // the connection may be lost already
	l.set(errClosed)
}

// errClosed is the cause of a link that was closed on purpose.
var errClosed = errors.New("closed")
