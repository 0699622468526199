package mqtt

import (
	"context"
	"errors"
	"strconv"
	"time"

	server "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/mqtt/topic"
)

// OnPublish stores the readings of a message before it is acknowledged. It runs in the goroutine of
// the connection, so that messages of a device are stored one after another.
func (h *hook) OnPublish(cl *server.Client, pk packets.Packet) (packets.Packet, error) {
	h.messages.Add(1)
	defer h.messages.Done()
	found, ok := h.peers.Load(cl.Net.Conn)
	if !ok {
		return pk, packets.ErrRejectPacket
	}
	p := found.(*peer)
	grant, err := h.grant(p)
	if errors.Is(err, apikeys.ErrNone) {
		h.disconnect(cl, packets.ErrNotAuthorized)
		return pk, packets.ErrRejectPacket
	}
	var result Result
	if err == nil {
		h.opts.Metrics.pending.Inc()
		result, err = h.store(cl, grant, &topic.Message{Topic: pk.TopicName, Payload: pk.Payload, Client: p.client, User: p.user, At: h.opts.Now()})
		h.opts.Metrics.pending.Dec()
	}
	if err != nil {
		h.refuse(cl, grant, err)
		return pk, packets.ErrRejectPacket
	}
	h.answer(cl, &pk, &result)
	code := codeOf(&result)
	if cl.Properties.ProtocolVersion < 5 || pk.FixedHeader.Qos == 0 || code == packets.CodeSuccess {
		return pk, packets.CodeSuccessIgnore // the server acknowledges QoS 1 and 2, and forwards the message to no device
	}
	acknowledge(cl, &pk, code, &result)
	return pk, packets.ErrRejectPacket
}

// store stores the readings of a message. It retries after each error until the duration Patience
// has passed.
//
// If the rate of the key is exceeded, it retries, too. An answer with an error code would lose the
// message, because a client of MQTT 5 must not resend a message after such an answer.
func (h *hook) store(cl *server.Client, g *apikeys.Grant, m *topic.Message) (Result, error) {
	deadline := time.Now().Add(h.opts.Patience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		// Close of the listener does not end this context, so that an attempt that has begun can finish.
		result, err := h.opts.Receiver.Receive(context.WithoutCancel(h.work), Sender{Grant: g}, m)
		if err == nil || time.Now().After(deadline) || cl.Closed() {
			return result, err
		}
		if wait := retryAfter(err); wait > 0 {
			pause = min(wait, time.Second)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-h.work.Done():
			timer.Stop()
			return result, err
		}
	}
}

// isTooFast reports whether a message failed because of the rate of its key.
func (h *hook) isTooFast(g *apikeys.Grant, err error) bool {
	return g != nil && varve.FailureOf(err) == varve.Busy && g.Write(h.opts.Now()) > 0
}

// refuse closes the connection of a message that cannot be stored now, so that the device resends
// the message.
func (h *hook) refuse(cl *server.Client, g *apikeys.Grant, err error) {
	switch {
	case h.work.Err() != nil:
		h.disconnect(cl, packets.ErrServerShuttingDown)
	case h.isTooFast(g, err):
		h.disconnect(cl, packets.ErrQuotaExceeded)
	case varve.FailureOf(err) == varve.Busy:
		h.disconnect(cl, packets.ErrServerBusy)
	default:
		h.disconnect(cl, packets.ErrServerUnavailable)
	}
}

// disconnect closes a connection. Devices of MQTT 5 get the code first.
func (h *hook) disconnect(cl *server.Client, code packets.Code) {
	if cl.Properties.ProtocolVersion == 5 {
		_ = h.server.DisconnectClient(cl, code) // the connection may be lost already
		return
	}
	cl.Stop(code)
}

// codeOf returns the MQTT 5 reason code of a result.
func codeOf(r *Result) packets.Code {
	switch r.Outcome {
	case Unmatched:
		return packets.CodeNoMatchingSubscribers
	case Rejected:
		return packets.ErrImplementationSpecificError
	case Forbidden:
		return packets.ErrNotAuthorized
	case Misnamed:
		return packets.ErrTopicNameInvalid
	case Unreadable:
		if r.Verdict.Code == varve.CodeTooLarge {
			return packets.ErrPacketTooLarge
		}
		return packets.ErrPayloadFormatInvalid
	case Stored, Ignored, Failed:
	}
	return packets.CodeSuccess
}

// maxReason is the maximum length of a reason string in bytes.
const maxReason = 400

// acknowledge acknowledges an MQTT 5 message with a code, and with the verdict of the result as reason.
func acknowledge(cl *server.Client, pk *packets.Packet, code packets.Code, r *Result) {
	kind := packets.Puback
	if pk.FixedHeader.Qos == 2 {
		kind = packets.Pubrec
	}
	ack := packets.Packet{
		FixedHeader: packets.FixedHeader{Type: kind}, PacketID: pk.PacketID, ReasonCode: code.Code,
		Properties: packets.Properties{ReasonString: reasonOf(&r.Verdict), User: []packets.UserProperty{
			{Key: "stored", Val: strconv.FormatInt(r.Tally.Stored, 10)},
			{Key: "duplicates", Val: strconv.FormatInt(r.Tally.Duplicates, 10)},
			{Key: "rejected", Val: strconv.FormatInt(r.Tally.Rejected, 10)},
		}},
	}
	if kind == packets.Pubrec && code.Code < packets.ErrUnspecifiedError.Code {
		// After such a code, the device sends PUBREL: the server must know the packet id then.
		ack.Created = time.Now().Unix()
		cl.State.Inflight.DecreaseReceiveQuota()
		cl.State.Inflight.Set(ack)
	}
	_ = cl.WritePacket(ack) // if the connection is lost, the device resends the message
}

// reasonOf returns a verdict as a reason string of at most maxReason bytes. It cuts between characters,
// because the reason string of a packet must be valid UTF-8.
func reasonOf(v *varve.Verdict) string {
	reason := v.Message
	if v.Code != "" {
		reason = string(v.Code) + ": " + reason
	}
	return quote.Cut(reason, maxReason)
}

// answer sends the verdicts to the response topic of a message, if its sender has subscribed to
// this topic.
func (h *hook) answer(cl *server.Client, pk *packets.Packet, r *Result) {
	to := pk.Properties.ResponseTopic
	if to == "" || !server.IsValidFilter(to, true) {
		return
	}
	if _, ok := h.server.Topics.Subscribers(to).Subscriptions[cl.ID]; !ok {
		return
	}
	// If WritePacket fails, the sender gets no answer, and may resend the message. That is harmless.
	_ = cl.WritePacket(packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Publish}, TopicName: to, Payload: answerText(r),
		Properties: packets.Properties{CorrelationData: pk.Properties.CorrelationData, ContentType: "application/json"},
	})
}
