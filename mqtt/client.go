package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/health"
)

// ClientOptions configures a Client. TLS and Conditions may be nil. Events and Patience may be zero.
type ClientOptions struct {
	Receiver *Receiver
	Metrics  *Metrics

	URL            string // address of the broker, as in mqtt://broker:1883 or mqtts://broker:8883
	User, Password string
	ClientID       string        // names this client and its session at the broker
	Protocol       string        // version of MQTT: auto, 5 or 3.1.1
	Filters        []string      // topic filters of MQTT, to which the client subscribes
	Share          string        // name of a shared subscription; if empty, the subscription is not shared
	Tenant         string        // tenant of the readings if neither the topic nor its rule gives a tenant
	Window         int           // maximum number of received messages that are not acknowledged
	Session        time.Duration // how long the broker keeps the session after the connection ends; only with MQTT 5
	TLS            *tls.Config   // for mqtts; if nil, the default of crypto/tls with at least TLS 1.2
	// Patience is how long a message that cannot be stored is retried. Then the client disconnects, so
	// that the broker resends it. 0 means 30 seconds.
	Patience time.Duration

	Conditions *health.Conditions
	Events     ClientEvents
	Now        func() time.Time
}

// ClientEvents has callbacks. A nil callback is not called.
type ClientEvents struct {
	Connected func(protocol string)
	// Disconnected is called after the connection was lost, and after each failed attempt to connect.
	// The argument "retry" is the pause before the next attempt.
	Disconnected func(err error, retry time.Duration)
}

// The shortest and the longest pause between two attempts to connect.
const (
	firstPause = time.Second / 2
	lastPause  = 30 * time.Second
)

// Client is the broker client. It subscribes to topics of a broker, and stores the readings in the messages
// that it receives.
type Client struct {
	opts   ClientOptions
	sender Sender
	stop   context.CancelFunc
	done   chan struct{}
	drops  drops

	mu    sync.Mutex
	state clientState
}

// clientState is the changing state of a client, which Status reports.
type clientState struct {
	connected bool
	protocol  string
	since     time.Time // when the field "connected" last changed
	last      error     // the last failure; a reconnect does not clear it
	connects  int64
	messages  int64
	at        time.Time // when the storing of the last message began
}

// StartClient starts a client, which connects in the background, and reconnects until Close.
func StartClient(o ClientOptions) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Events.Connected == nil {
		o.Events.Connected = func(string) {}
	}
	if o.Events.Disconnected == nil {
		o.Events.Disconnected = func(error, time.Duration) {}
	}
	c := &Client{opts: o, stop: cancel, done: make(chan struct{})}
	c.sender = Sender{Grant: &apikeys.Grant{Tenant: o.Tenant, Scopes: apikeys.Write}, AnyTenant: true, Queued: true}
	c.state.since = o.Now()
	c.drops = drops{now: o.Now, conditions: o.Conditions, metrics: o.Metrics}
	go func() {
		defer close(c.done)
		c.reconnect(ctx)
	}()
	return c
}

// Close stores and acknowledges the received messages for at most drainLimit, and disconnects. The
// broker resends messages that were not acknowledged.
func (c *Client) Close() {
	c.stop()
	<-c.done
}

// reconnect serves one connection after another until ctx ends.
func (c *Client) reconnect(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		connected, err := c.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if connected {
			pause = firstPause
		}
		c.setDisconnected(err)
		c.opts.Conditions.Set(health.BrokerUnreachable, fmt.Sprintf("%s: %s", c.opts.URL, err))
		c.opts.Events.Disconnected(err, pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		pause = min(2*pause, lastPause)
	}
}

// serve serves one connection until it fails or ctx ends.
func (c *Client) serve(ctx context.Context) (connected bool, err error) {
	q := newQueue(ctx, c)
	defer q.end()
	l, protocol, err := c.connect(ctx, q.receive)
	if err != nil {
		return false, err
	}
	defer l.close()
	q.connected(l)
	subscribed := make(chan error, 1)
	go func() { subscribed <- c.subscribe(ctx, l) }()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for err == nil {
		select {
		case <-tick.C:
			c.drops.endIfQuiet()
		case err = <-subscribed:
			if err == nil {
				connected, subscribed = true, nil
				c.setConnected(protocol)
			}
		case <-l.failed():
			err = l.cause()
		case err = <-q.failed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	q.drain(l.failed())
	return connected, err
}

// subscribe subscribes to the topics, and to the report of dropped messages. A broker with a backlog of
// messages sends much of the backlog before it answers. So subscribe may take long.
func (c *Client) subscribe(ctx context.Context, l link) error {
	filters := c.opts.Filters
	if c.opts.Share != "" {
		filters = make([]string, len(filters))
		for i, f := range c.opts.Filters {
			filters[i] = "$share/" + c.opts.Share + "/" + f
		}
	}
	if err := l.subscribe(ctx, filters); err != nil {
		return err
	}
	_ = l.subscribe(ctx, []string{droppedTopic}) // a broker that refuses this topic reports no drops
	return nil
}

// connect connects with the configured version of MQTT. For "auto", it tries 5 and then 3.1.1.
func (c *Client) connect(ctx context.Context, receive func(*message)) (link, string, error) {
	if c.opts.Protocol != "3.1.1" {
		l, err := connect5(ctx, &c.opts, receive)
		if err == nil || c.opts.Protocol == "5" || !errors.Is(err, errVersion) {
			return l, "5", err
		}
	}
	l, err := connect311(ctx, &c.opts, receive)
	return l, "3.1.1", err
}

func (c *Client) setConnected(protocol string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.connected, c.state.protocol, c.state.since = true, protocol, c.opts.Now()
	c.state.connects++
	c.opts.Metrics.connected.Set(1)
	c.opts.Metrics.connects.Inc()
	c.opts.Conditions.Clear(health.BrokerUnreachable)
	c.opts.Events.Connected(protocol)
}

func (c *Client) setDisconnected(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.connected {
		c.state.since = c.opts.Now()
	}
	c.state.connected, c.state.last = false, err
	c.opts.Metrics.connected.Set(0)
}

func (c *Client) noteMessage() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.messages++
	c.state.at = c.opts.Now()
}

// store stores the readings of a message, and ignores retained copies. It retries after each error
// until the duration Patience has passed.
func (c *Client) store(ctx context.Context, m *message) (Result, error) {
	if m.retained {
		c.opts.Metrics.received(Ignored, 0)
		return Result{Outcome: Ignored}, nil
	}
	m.At = c.opts.Now()
	deadline := time.Now().Add(c.opts.Patience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		result, err := c.opts.Receiver.Receive(ctx, c.sender, &m.Message)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return result, err
		}
		if wait := retryAfter(err); wait > 0 {
			pause = min(wait, 2*time.Second)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return result, err
		}
	}
}
