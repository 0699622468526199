package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	server "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/varvedb/varve/apikeys"
)

// KeyChecker checks API keys. An apikeys.Registry is a KeyChecker.
type KeyChecker interface {
	// On reports whether connections need a key.
	On(ctx context.Context) (bool, error)
	// Check returns the rights of a key, or apikeys.ErrNone.
	Check(ctx context.Context, text string) (*apikeys.Grant, error)
}

// ListenerOptions configures a Listener. TLS and Keys may be nil, and Patience may be 0.
type ListenerOptions struct {
	Receiver *Receiver
	Metrics  *Metrics
	Listener net.Listener
	TLS      *tls.Config
	// Keys checks the API keys of connections. If nil, or before the first key exists, each connection
	// may write, unless KeysRequired is set.
	Keys KeyChecker
	// KeysRequired refuses connections without a key, even before the first key exists.
	KeysRequired bool
	MaxMessage   int // maximum length of a payload in bytes
	Now          func() time.Time
	// Patience is how long a message that cannot be stored is retried. Then the connection is closed,
	// so that the device resends the message. 0 means 10 seconds.
	Patience time.Duration
}

// Listener accepts connections of devices. A device can write, and subscribe to the answers to its own
// messages. It does not receive messages of other devices.
type Listener struct {
	server *server.Server
	hook   *hook
}

// Limits of connections.
const (
	// helloLimit is the time in which a connection must send its first packet.
	helloLimit = 10 * time.Second
	// sessionSeconds is the maximum lifetime of the session of a lost connection, in seconds.
	sessionSeconds = 60
	// receiveAhead is the maximum number of messages of a device that are received and not yet
	// acknowledged.
	receiveAhead = 100
	// receiveAheadV3 replaces receiveAhead for messages of QoS 2 of MQTT 3.1.1, where a device cannot know
	// the limit. It bounds the memory that a device can use in this process.
	receiveAheadV3 = 10_000
	// maxKeepAlive is the maximum keep-alive in seconds. The library computes 1.5 times the keep-alive in
	// 16 bits.
	maxKeepAlive = 43_690
)

// StartListener starts a listener, which serves connections in the background until Close.
func StartListener(o ListenerOptions) (*Listener, error) {
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	capabilities := server.NewDefaultServerCapabilities()
	// A message of up to about twice MaxMessage is read and gets an answer. A longer one is not read, and
	// its connection is closed: see deviceConn.
	longest := maxPacket(o.MaxMessage)
	capabilities.MaximumPacketSize = uint32(longest) //nolint:gosec // bounded
	capabilities.MaximumSessionExpiryInterval = sessionSeconds
	capabilities.ReceiveMaximum = receiveAhead
	capabilities.TopicAliasMaximum = 0
	capabilities.RetainAvailable = 1 // devices that retain messages are not refused; nothing is retained
	capabilities.SharedSubAvailable = 0
	s := server.New(&server.Options{Capabilities: capabilities, Logger: slog.New(slog.DiscardHandler)})
	work, abort := context.WithCancel(context.Background())
	h := &hook{opts: o, server: s, work: work, abort: abort}
	accepted := o.Listener
	if o.TLS != nil {
		accepted = tls.NewListener(accepted, o.TLS)
	}
	if err := errors.Join(s.AddHook(h, nil), s.AddListener(newConnections(accepted, helloLimit, longest-1, h.forget))); err != nil {
		return nil, err
	}
	if err := s.Serve(); err != nil {
		return nil, err
	}
	return &Listener{server: s, hook: h}, nil
}

// Addr returns the address of the listener.
func (l *Listener) Addr() net.Addr { return l.hook.opts.Listener.Addr() }

// Close ends all connections. A message that is being stored may still be stored and acknowledged.
// Other messages are not acknowledged.
func (l *Listener) Close() error {
	l.hook.abort()
	err := l.server.Close()
	l.hook.messages.Wait()
	return err
}

type peer struct {
	key    string // text of the device's API key; empty while no key is needed
	client string // client id of the device
	user   string // user name of the device, unless it is the API key
}

// hook has the callbacks of the MQTT library's server.
type hook struct {
	server.HookBase
	opts     ListenerOptions
	server   *server.Server
	peers    sync.Map        // net.Conn to *peer
	count    atomic.Int64    // number of peers
	work     context.Context // done when the listener closes
	abort    context.CancelFunc
	messages sync.WaitGroup // messages that are being stored
}

// ID implements server.Hook.
func (h *hook) ID() string { return "varve" }

// Provides implements server.Hook.
func (h *hook) Provides(b byte) bool {
	switch b {
	case server.OnConnect, server.OnConnectAuthenticate, server.OnACLCheck, server.OnSubscribe, server.OnSessionEstablished, server.OnPacketRead, server.OnPacketEncode, server.OnPublish:
		return true
	}
	return false
}

// OnConnect checks the API key of a connection. If the key may write, OnConnect records the device as a
// peer, and makes the key part of the client id. An error closes the connection.
func (h *hook) OnConnect(cl *server.Client, pk packets.Packet) error {
	if d, ok := cl.Net.Conn.(*deviceConn); ok {
		d.isV5 = cl.Properties.ProtocolVersion == 5
	}
	p := &peer{client: cl.ID, user: string(pk.Connect.Username)}
	p.key = string(pk.Connect.Password)
	if p.key == "" {
		p.key = p.user
	}
	if apikeys.Shows(p.user) {
		p.user = ""
	}
	grant, err := h.grant(p)
	switch {
	case errors.Is(err, apikeys.ErrNone):
		h.opts.Metrics.refused.Inc()
		return nil // OnConnectAuthenticate refuses the connection
	case err != nil:
		return errors.Join(err, h.server.SendConnack(cl, packets.ErrServerUnavailable, false, nil))
	}
	// Client ids belong to a key: a device must not take over the session of another tenant's device.
	cl.ID = grant.ID + "\x00" + cl.ID
	cl.Properties.Will.Flag = 0 // no device could receive the will message
	if cl.State.Keepalive > maxKeepAlive {
		cl.State.Keepalive, cl.State.ServerKeepalive = maxKeepAlive, true
	}
	h.peers.Store(cl.Net.Conn, p)
	h.count.Add(1)
	h.opts.Metrics.connections.Inc()
	return nil
}

// grant returns the rights of a device. It is called for each message, so that the device of a revoked
// key loses its rights.
func (h *hook) grant(p *peer) (*apikeys.Grant, error) {
	on := h.opts.KeysRequired
	if !on && h.opts.Keys != nil {
		var err error
		if on, err = h.opts.Keys.On(h.work); err != nil {
			return nil, err
		}
	}
	if !on {
		p.key = ""
		return apikeys.Everything(), nil
	}
	if h.opts.Keys == nil || p.key == "" {
		return nil, apikeys.ErrNone
	}
	grant, err := h.opts.Keys.Check(h.work, p.key)
	if err == nil && !grant.Scopes.Has(apikeys.Write) {
		err = apikeys.ErrNone
	}
	return grant, err
}

// OnConnectAuthenticate reports whether OnConnect accepted the key.
func (h *hook) OnConnectAuthenticate(cl *server.Client, _ packets.Packet) bool {
	_, ok := h.peers.Load(cl.Net.Conn)
	return ok
}

// OnACLCheck allows all messages, because OnPublish checks them. It refuses subscriptions to topics
// that begin with $.
func (h *hook) OnACLCheck(_ *server.Client, topic string, write bool) bool {
	return write || len(topic) > 0 && topic[0] != '$'
}

// OnSessionEstablished raises the limit of unacknowledged messages for devices of MQTT 3. It must do so for
// each connection, because the server resets the limit when a device resumes its session.
func (h *hook) OnSessionEstablished(cl *server.Client, _ packets.Packet) {
	if cl.Properties.ProtocolVersion < 5 {
		cl.State.Inflight.ResetReceiveQuota(receiveAheadV3)
	}
}

// forget removes the peer of a connection that has ended. The server calls OnDisconnect only for
// connections whose first answer it could send.
func (h *hook) forget(conn net.Conn) {
	if _, ok := h.peers.LoadAndDelete(conn); ok {
		h.count.Add(-1)
		h.opts.Metrics.connections.Dec()
	}
}

// OnPacketRead refuses topics that the server would ignore without an answer, and limits the session of
// a device that disconnects. For a new message of QoS 2, it also calls freePacketID.
func (h *hook) OnPacketRead(cl *server.Client, pk packets.Packet) (packets.Packet, error) {
	switch pk.FixedHeader.Type {
	case packets.Publish:
		if !server.IsValidFilter(pk.TopicName, true) {
			h.disconnect(cl, packets.ErrTopicNameInvalid)
			return pk, packets.ErrTopicNameInvalid
		}
		if pk.FixedHeader.Qos == 2 && !pk.FixedHeader.Dup {
			freePacketID(cl, pk.PacketID)
		}
	case packets.Disconnect:
		pk.Properties.SessionExpiryInterval = min(pk.Properties.SessionExpiryInterval, sessionSeconds)
	}
	return pk, nil
}

// freePacketID ends an earlier message of QoS 2 that has the same packet id as a new message. The device has
// lost its memory, because otherwise it would send PUBREL or a duplicate. Without freePacketID, the server
// would acknowledge the new message and drop it.
func freePacketID(cl *server.Client, id uint16) {
	if earlier, ok := cl.State.Inflight.Get(id); ok && earlier.FixedHeader.Type == packets.Pubrec {
		cl.State.Inflight.Delete(id)
		cl.State.Inflight.IncreaseReceiveQuota()
	}
}

// OnPacketEncode changes the code of two answers. A device with an unknown version of MQTT gets the code with
// which MQTT 3.1.1 refuses a version. A duplicate of QoS 2 gets the code of success, because after an error
// the device would count its message as lost.
func (h *hook) OnPacketEncode(cl *server.Client, pk packets.Packet) packets.Packet {
	if pk.FixedHeader.Type == packets.Pubrec && pk.ReasonCode == packets.ErrPacketIdentifierInUse.Code {
		pk.ReasonCode, pk.Properties = packets.CodeSuccess.Code, packets.Properties{} // see freePacketID for other messages
	}
	if v := cl.Properties.ProtocolVersion; pk.FixedHeader.Type == packets.Connack && (v < 3 || v > 5) {
		pk.ReasonCode = packets.Err3UnsupportedProtocolVersion.Code
	}
	return pk
}
