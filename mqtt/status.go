package mqtt

import (
	"time"

	"github.com/varvedb/varve/api/wire"
)

// Status returns the state of the client.
func (c *Client) Status() *wire.MQTTClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &wire.MQTTClient{
		URL: c.opts.URL, ClientID: c.opts.ClientID, Connected: c.state.connected, Protocol: c.state.protocol, Since: c.state.since.UTC(),
		Connects: c.state.connects, Messages: c.state.messages, Topics: c.opts.Filters, Share: c.opts.Share, Dropped: c.drops.status(),
	}
	if c.state.last != nil {
		s.LastError = c.state.last.Error()
	}
	if !c.state.at.IsZero() {
		s.LastMessage = orNil(c.state.at)
	}
	return s
}

// status returns the numbers of messages that the broker dropped, or nil before the first report of
// the broker.
func (d *drops) status() *wire.MQTTDropped {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isKnown {
		return nil
	}
	return &wire.MQTTDropped{Total: d.count, Seen: d.count - d.firstCount, Last: orNil(d.lastRise)}
}

// Status returns the state of the listener.
func (l *Listener) Status() *wire.MQTTListener {
	return &wire.MQTTListener{Listen: l.Addr().String(), TLS: l.hook.opts.TLS != nil, Connections: l.hook.count.Load()}
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
