package mqtt

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/mqtt/topic"
)

// message is a message that a broker sent.
type message struct {
	topic.Message
	qos         byte
	retained    bool   // a copy of an old message, which the broker sent because a subscription began
	answerTo    string // response topic; empty if the sender wants no answer, and always with MQTT 3.1.1
	correlation []byte // correlation data, which the answer repeats
	ack         func() error
}

// link is a connection to a broker with one version of MQTT.
type link interface {
	// subscribe subscribes to topic filters, each with the QoS of qosOf. It fails if the broker
	// refuses one of the filters.
	subscribe(ctx context.Context, filters []string) error
	// publish sends a message of QoS 0.
	publish(ctx context.Context, topic string, payload, correlation []byte) error
	// failed returns a channel that is closed when the connection is lost. Then cause returns the
	// reason.
	failed() <-chan struct{}
	cause() error
	// close sends the pending acknowledgements, and disconnects.
	close()
}

type failure struct {
	once sync.Once
	done chan struct{}
	err  error
}

func newFailure() *failure { return &failure{done: make(chan struct{})} }

func (f *failure) set(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.done)
	})
}

func (f *failure) failed() <-chan struct{} { return f.done }

// cause returns the reason for the failure. It may be called only after f.done is closed.
func (f *failure) cause() error { return f.err }

var errVersion = errors.New("the broker does not support this version of MQTT")

// dialLimit limits the time until a connection is open, and the wait for the answer to the packet CONNECT.
const dialLimit = 10 * time.Second

// keepAlive is the interval of pings to the broker, in seconds.
const keepAlive = 30

// silence is the maximum time without any packet from the broker. A limit on the time until a ping is
// answered would end good connections: with a backlog, Mosquitto sends megabytes before the answer.
const silence = 2 * keepAlive * time.Second

// dial opens a connection to the broker, with TLS for the scheme mqtts. It fails after dialLimit.
func dial(ctx context.Context, address string, secure *tls.Config) (net.Conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	port := u.Port()
	if u.Scheme != "mqtts" {
		if port == "" {
			port = "1883"
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	}
	if port == "" {
		port = "8883"
	}
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	d := tls.Dialer{Config: secure}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
}

// CheckBroker checks that a broker accepts connections. It sends no packet of MQTT, because a second
// connection with the same client id would end the connection of a running client.
func CheckBroker(ctx context.Context, address string, secure *tls.Config) error {
	conn, err := dial(ctx, address, secure)
	if err != nil {
		return err
	}
	return conn.Close()
}

// bufferedConn reads ahead, because the libraries read each packet with three small reads. The
// Mutex is for the library of MQTT 5: if a connection implements sync.Locker, the library locks it
// while it writes a packet.
type bufferedConn struct {
	net.Conn
	sync.Mutex
	in cutter
}

func newBufferedConn(c net.Conn, o *ClientOptions, isV5 bool) *bufferedConn {
	return &bufferedConn{Conn: c, in: cutter{in: bufio.NewReaderSize(watched{c}, 64<<10), isV5: isV5, limit: maxPacket(o.Receiver.opts.MaxMessage)}}
}

// watched is a connection whose reads fail if the broker sends nothing for longer than the constant
// "silence".
type watched struct{ net.Conn }

func (w watched) Read(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return w.Conn.Read(p)
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

func refused(filter string, code byte) error {
	return varve.Errorf(varve.Forbidden, "the broker refuses the subscription to %s with code 0x%02x: allow it there for mqtt.user", filter, code)
}
