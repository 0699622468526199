package mqtt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/mqtt/topic"
	"github.com/varvedb/varve/rejects"
)

// RejectStore stores rejects durably.
type RejectStore interface {
	// Add returns for each reject whether it is stored. A reject beyond the limits is discarded
	// without an error.
	Add(ctx context.Context, list []rejects.Reject) (kept []bool, err error)
}

// ReceiverOptions configures a Receiver. If Lines is nil, the default mapping of wire.LineMapping
// applies.
type ReceiverOptions struct {
	Ingester *ingest.Ingester
	Table    topic.Table
	Lines    *wire.LineMapping
	Now      func() time.Time
	// MaxMessage is the maximum length of a payload in bytes.
	MaxMessage int
	// Rejects stores messages that are rejected as a whole. If Add fails, the message is not
	// acknowledged.
	Rejects RejectStore
	Metrics *Metrics
}

// Receiver stores the readings of messages. It is safe for concurrent use.
type Receiver struct{ opts ReceiverOptions }

// NewReceiver returns a receiver.
func NewReceiver(o ReceiverOptions) *Receiver { return &Receiver{o} }

// Result is the result of a message. If Receive does not fail, the result is final: a retry of the
// message would have the same outcome.
type Result struct {
	Outcome Outcome
	Tally   wire.Tally
	Verdict varve.Verdict // verdict on the first rejected reading, or on the whole message
	Rejects []wire.Reject // the first rejections, up to maxListed
}

// pace returns a pace for messages that wait in a queue.
func (r *Receiver) pace() *lanes.Pace { return r.opts.Ingester.Pace() }

// maxListed is the maximum number of rejections in a result.
const maxListed = 100

// Outcome classifies a result.
type Outcome string

// The outcomes. They are also the values of the label outcome of varve_mqtt_messages_total.
const (
	Stored     Outcome = "stored"     // all readings are stored or duplicates
	Rejected   Outcome = "rejected"   // some or all readings are rejected
	Unreadable Outcome = "unreadable" // the payload is too long, or no reading is readable
	Misnamed   Outcome = "misnamed"   // the topic gives an invalid tenant, stream or device
	Unmatched  Outcome = "unmatched"  // no pattern matches the topic
	Forbidden  Outcome = "forbidden"  // the key may not write to the tenant that the topic or its rule gives
	Ignored    Outcome = "ignored"    // an old copy that the broker retained
	Failed     Outcome = "failed"     // one attempt to store failed; a retry may succeed
)

// Sender has the rights and the properties of the sender of messages.
type Sender struct {
	Grant *apikeys.Grant
	// AnyTenant allows topics and rules that give a tenant other than the grant's.
	AnyTenant bool
	// Queued means that messages may have waited in a queue. Bulk work does not rest for such
	// messages.
	Queued bool
}

// Receive stores the readings of a message with the rights of its sender. If it fails, the message was
// not stored completely, and a retry with the same Message.At may succeed. Otherwise each reading is
// durable, or permanently rejected. Rejects are durable, too, but a reject beyond the limit is
// discarded.
func (r *Receiver) Receive(ctx context.Context, s Sender, m *topic.Message) (Result, error) {
	begin := time.Now()
	result, tenant, err := r.store(ctx, s, m)
	// If no reading was rejected on its own, store the whole message as a reject. Otherwise, the session has
	// stored the rejects.
	if err == nil && result.Outcome != Stored && result.Tally.Rejected == 0 {
		now := r.opts.Now()
		_, err = r.opts.Rejects.Add(ctx, []rejects.Reject{{
			Tenant: tenant, Door: "mqtt", From: m.Topic, First: now, Last: now, Times: 1,
			Code: result.Verdict.Code, Message: result.Verdict.Message, Text: string(m.Payload),
		}})
	}
	if err != nil {
		result.Outcome = Failed
	}
	r.opts.Metrics.received(result.Outcome, time.Since(begin))
	return result, err
}

func (r *Receiver) store(ctx context.Context, s Sender, m *topic.Message) (result Result, tenant string, err error) {
	if n := len(m.Payload); n > r.opts.MaxMessage {
		size := strconv.Itoa(n)
		if n >= 2*r.opts.MaxMessage { // a cutter may have cut the message
			size = "at least " + strconv.Itoa(2*r.opts.MaxMessage)
		}
		return Result{Outcome: Unreadable, Verdict: varve.Reject(varve.CodeTooLarge,
			"the message has %s bytes: send at most %d, see mqtt.max_message", size, r.opts.MaxMessage)}, s.Grant.Tenant, nil
	}
	d, err := r.opts.Table.Resolve(m)
	if err != nil {
		return unresolved(m, err), s.Grant.Tenant, nil
	}
	tenant = d.Defaults.Tenant
	if tenant == "" {
		tenant = s.Grant.Tenant
	}
	if tenant != s.Grant.Tenant && !s.AnyTenant {
		return Result{Outcome: Forbidden, Verdict: varve.Reject(varve.CodeStreamInvalid, "the key and the topic belong to different tenants")}, s.Grant.Tenant, nil
	}
	d.Defaults.Tenant = tenant
	if d.ArrivalIsTime {
		d.Defaults.Arrival = m.At
	}
	d.Defaults.Lines, d.Defaults.Now = r.opts.Lines, func() time.Time { return m.At }
	result, err = r.read(ctx, s, m.Topic, d)
	return result, tenant, err
}

func unresolved(m *topic.Message, err error) Result {
	var unreadable *topic.Unreadable
	switch {
	case !errors.As(err, &unreadable):
		return Result{Outcome: Unmatched, Verdict: varve.Reject(varve.CodeMalformed, "topic %.200q: no pattern matches: see the settings topics", m.Topic)}
	case unreadable.Verdict.Code == varve.CodeMalformed:
		return Result{Outcome: Unreadable, Verdict: unreadable.Verdict}
	}
	return Result{Outcome: Misnamed, Verdict: unreadable.Verdict}
}

// read stores the body of a message in one session. The session stores rejected readings as rejects.
func (r *Receiver) read(ctx context.Context, s Sender, from string, d *topic.Delivery) (result Result, err error) {
	session, err := r.opts.Ingester.Begin(s.Grant)
	if err != nil {
		return result, err
	}
	defer session.Close()
	var temporary *varve.Verdict
	err = session.Read(ctx, &ingest.Source{
		Format: d.Format, Body: bytes.NewReader(d.Body), Defaults: d.Defaults, Columns: d.Columns,
		ArrivalIsTime: d.ArrivalIsTime, Large: len(d.Body) > ingest.SmallBody, From: from, DurableRejects: true, Queued: s.Queued,
		Rejected: func(j ingest.Rejection) {
			if j.Verdict.Code.Retryable() {
				temporary = &varve.Verdict{Code: j.Verdict.Code, Message: j.Verdict.Message}
				return
			}
			if result.Verdict.Outcome == 0 {
				result.Verdict = *j.Verdict
			}
			if len(result.Rejects) < maxListed {
				result.Rejects = append(result.Rejects, wire.Reject{Index: j.Index, Line: int64(j.Line), Code: string(j.Verdict.Code), Message: j.Verdict.Message})
			}
		},
	})
	result.Tally = session.Tally
	switch {
	case err != nil && !isFinal(err):
		return result, err
	case temporary != nil: // before the message becomes a reject, its valid readings must be stored
		return result, varve.Errorf(varve.Unavailable, "%s", temporary.Message)
	case err != nil:
		result.Outcome, result.Verdict = Unreadable, varve.Reject(varve.CodeMalformed, "%s", err)
		result.Tally.Rejected = 0 // so that Receive stores the whole message as a reject
	case result.Tally.Rejected > 0:
		result.Outcome = Rejected
		if result.Tally.Rejected == result.Tally.Total() && result.Verdict.Code == varve.CodeMalformed {
			result.Outcome = Unreadable
		}
	default:
		result.Outcome = Stored
	}
	return result, nil
}

// retryAfter returns the pause before a retry that an error states, or 0.
func retryAfter(err error) time.Duration {
	var e *varve.Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// isFinal reports whether an error about a body recurs with each retry.
func isFinal(err error) bool {
	var body *wire.BodyError
	if errors.As(err, &body) {
		return true
	}
	switch varve.FailureOf(err) {
	case varve.Invalid, varve.Forbidden, varve.NotFound, varve.Conflict, varve.Damaged, varve.Gone:
		return true
	case varve.Internal, varve.Busy, varve.Unavailable:
	}
	return false
}

// answerText returns a result in the form of the answers to writes over HTTP.
func answerText(r *Result) []byte {
	a := wire.WriteAnswer{
		Stored: r.Tally.Stored, Duplicates: r.Tally.Duplicates, Rejected: r.Tally.Rejected, Queued: r.Tally.Queued, Rejects: r.Rejects,
		Truncated: int64(len(r.Rejects)) < r.Tally.Rejected,
	}
	if a.Rejected == 0 && r.Verdict.Outcome == varve.Rejected {
		a.Rejected, a.Rejects = 1, []wire.Reject{{Code: string(r.Verdict.Code), Message: r.Verdict.Message}}
	}
	if a.Rejects == nil {
		a.Rejects = []wire.Reject{}
	}
	text, err := json.Marshal(&a)
	if err != nil {
		return []byte("{}") // impossible, because the answer contains only texts and numbers
	}
	return text
}
