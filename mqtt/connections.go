package mqtt

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/mochi-mqtt/server/v2/listeners"
)

// connections implements listeners.Listener of the MQTT library. Its Close waits for the accept loop and
// for all connections, and ends connections that have not sent their first packet. The library's own
// listeners do neither.
type connections struct {
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]struct{}
	closed   chan struct{}
	hello    time.Duration  // the time in which a connection must send its first packet
	limit    int            // maximum length of a packet after its fixed header
	ended    func(net.Conn) // called with each connection that was established, after its end
	running  sync.WaitGroup // the accept loop and the connections; mu is locked for Add
}

// acceptPause is the wait after a connection could not be accepted.
const acceptPause = 50 * time.Millisecond

func newConnections(l net.Listener, hello time.Duration, limit int, ended func(net.Conn)) *connections {
	return &connections{listener: l, hello: hello, limit: limit, ended: ended, open: map[net.Conn]struct{}{}, closed: make(chan struct{})}
}

// Init, ID, Address and Protocol implement listeners.Listener.
func (c *connections) Init(*slog.Logger) error { return nil }
func (c *connections) ID() string              { return "devices" }
func (c *connections) Address() string         { return c.listener.Addr().String() }
func (c *connections) Protocol() string        { return c.listener.Addr().Network() }

// Serve accepts connections until Close. Each connection must send its first packet within the time
// c.hello.
func (c *connections) Serve(establish listeners.EstablishFn) {
	if !c.begin(nil) {
		return
	}
	defer c.running.Done()
	for {
		conn, err := c.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example, if too many files are open
			select {
			case <-c.closed:
			case <-time.After(acceptPause):
			}
			continue
		}
		if conn.SetDeadline(time.Now().Add(c.hello)) != nil || !c.begin(conn) {
			_ = conn.Close()
			continue
		}
		go func() {
			defer c.end(conn)
			d := &deviceConn{Conn: conn, limit: c.limit}
			_ = establish(c.ID(), d) // the reason why a connection ended is not reported
			c.ended(d)
		}()
	}
}

// begin records that a connection runs. If conn is nil, it records that the accept loop runs. After
// Close, it records nothing and returns false.
func (c *connections) begin(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
		return false
	default:
	}
	if conn != nil {
		c.open[conn] = struct{}{}
	}
	c.running.Add(1)
	return true
}

func (c *connections) end(conn net.Conn) {
	_ = conn.Close()
	c.mu.Lock()
	delete(c.open, conn)
	c.mu.Unlock()
	c.running.Done()
}

// Close refuses new connections, sends DISCONNECT to the devices, and ends all connections. It returns
// when the messages that were received are processed. If a device does not read the DISCONNECT, its
// connection is closed without it.
func (c *connections) Close(disconnect listeners.CloseFn) {
	c.mu.Lock()
	close(c.closed)
	c.mu.Unlock()
	_ = c.listener.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		disconnect(c.ID())
	}()
	limit := time.NewTimer(farewell)
	defer limit.Stop()
	select {
	case <-sent:
	case <-limit.C:
	}
	var closing sync.WaitGroup // the end of a TLS connection may take seconds if its device reads nothing
	c.mu.Lock()
	for conn := range c.open {
		closing.Go(func() { _ = conn.Close() })
	}
	c.mu.Unlock()
	closing.Wait()
	<-sent
	c.running.Wait()
}
