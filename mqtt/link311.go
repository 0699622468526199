package mqtt

import (
	"context"
	"net"
	"net/url"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

type link311 struct {
	*failure
	client paho.Client
}

// connect311 connects with MQTT 3.1.1. The function "receive" is called for each message, in order.
// While it blocks, no further message is read.
func connect311(ctx context.Context, o *ClientOptions, receive func(*message)) (link, error) {
	l := &link311{failure: newFailure()}
	options := paho.NewClientOptions().AddBroker("tcp://unused"). // required, but dial connects to o.URL
									SetClientID(o.ClientID).SetUsername(o.User).SetPassword(o.Password).
									SetProtocolVersion(4).SetCleanSession(false).SetKeepAlive(keepAlive * time.Second).SetPingTimeout(answerLimit).SetConnectTimeout(dialLimit).
									SetAutoReconnect(false).SetConnectRetry(false).SetOrderMatters(true).SetAutoAckDisabled(true).
									SetWriteTimeout(dialLimit).
									SetConnectionLostHandler(func(_ paho.Client, err error) { l.set(err) }).
									SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) { receive(message311(m)) }).
									SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) {
			conn, err := dial(ctx, o.URL, o.TLS)
			if err != nil {
				return nil, err
			}
			return newBufferedConn(conn, o, false), nil
		})
	l.client = paho.NewClient(options)
	limited, cancel := context.WithTimeout(ctx, 2*dialLimit)
	defer cancel()
	if err := l.wait(limited, l.client.Connect()); err != nil {
		return nil, err
	}
	return l, nil
}

func message311(p paho.Message) *message {
	m := &message{qos: p.Qos(), retained: p.Retained()}
	m.Topic, m.Payload = p.Topic(), p.Payload()
	m.ack = func() error {
		p.Ack()
		return nil
	}
	return m
}

// wait blocks until the broker has answered. It fails if the answer is an error, the connection is
// lost, or ctx ends.
func (l *link311) wait(ctx context.Context, t paho.Token) error {
	select {
	case <-t.Done():
		return t.Error()
	case <-l.failed():
		return l.cause()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *link311) subscribe(ctx context.Context, filters []string) error {
	wanted := map[string]byte{}
	for _, f := range filters {
		wanted[f] = qosOf(f)
	}
	token := l.client.SubscribeMultiple(wanted, nil)
	if err := l.wait(ctx, token); err != nil {
		return err
	}
	if t, ok := token.(*paho.SubscribeToken); ok {
		for filter, code := range t.Result() {
			if code >= 0x80 {
				return refused(filter, code)
			}
		}
	}
	return nil
}

func (l *link311) publish(ctx context.Context, topic string, payload, _ []byte) error {
	return l.wait(ctx, l.client.Publish(topic, 0, false, payload))
}

func (l *link311) close() {
	const quiesce = 250 // milliseconds in which acknowledgements are sent
	l.client.Disconnect(quiesce)
	l.set(errClosed)
}
