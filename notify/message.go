package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Type is the type of a message.
type Type string

// The types.
const (
	Opened   Type = "alert.opened"
	Resolved Type = "alert.resolved"
	Digest   Type = "alert.digest" // states the numbers of late alerts of a rule
	Test     Type = "alert.test"   // sent on request, to test a notifier
)

// Message states one event. Exactly one of Alert, Digest and Text is set.
type Message struct {
	ID     string     `json:"id"` // equal in every attempt to send the message
	Type   Type       `json:"type"`
	Time   time.Time  `json:"time"` // when the message, or the last message of a digest, was queued
	Alert  *AlertData `json:"alert,omitempty"`
	Digest *Summary   `json:"digest,omitempty"`
	Text   string     `json:"text,omitempty"`
}

// AlertData describes an alert.
type AlertData struct {
	ID         string          `json:"id"`
	Tenant     string          `json:"tenant"`
	Device     string          `json:"device"`
	Stream     string          `json:"stream,omitempty"`
	Rule       string          `json:"rule"`
	Severity   string          `json:"severity"`
	State      string          `json:"state"`
	Message    string          `json:"message"`
	Value      json.RawMessage `json:"value,omitempty"`
	Since      time.Time       `json:"since"`       // event time at which the condition began to hold
	OpenedAt   time.Time       `json:"opened_at"`   // event time at which the condition had held long enough
	KnownSince time.Time       `json:"known_since"` // when Varve recorded the opening
	ResolvedAt *time.Time      `json:"resolved_at,omitempty"`
	ResolvedBy string          `json:"resolved_by,omitempty"`
	ReplacedBy string          `json:"replaced_by,omitempty"` // id of the alert that replaces this one
	Late       bool            `json:"late"`
	Links
}

// Links has a command and a URL that show the alerts.
type Links struct {
	Command string `json:"command"`
	URL     string `json:"url,omitempty"`
}

// Summary describes many late alerts of a rule.
type Summary struct {
	Tenant   string    `json:"tenant"`
	Rule     string    `json:"rule"`
	Severity string    `json:"severity"`
	Message  string    `json:"message"`
	Opened   int       `json:"opened"`   // number of openings in this digest
	Resolved int       `json:"resolved"` // number of resolutions in this digest
	Open     int       `json:"open"`     // number of opened alerts that this digest does not resolve
	Devices  int       `json:"devices"`
	From     time.Time `json:"from"` // From and To are the first and the last event time of the counted events
	To       time.Time `json:"to"`
	Late     bool      `json:"late"`
	Links
}

// envelope is a message as receivers get it, in the form that Standard Webhooks recommends.
type envelope struct {
	ID        string    `json:"id,omitempty"`
	Type      Type      `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// body returns the message as JSON, without its id, which is in a header.
func (m *Message) body() ([]byte, error) { return m.encode(envelope{}) }

// Envelope returns the message as JSON with its id, for protocols without headers.
func (m *Message) Envelope() ([]byte, error) { return m.encode(envelope{ID: m.ID}) }

func (m *Message) encode(e envelope) ([]byte, error) {
	e.Type, e.Timestamp = m.Type, m.Time
	switch {
	case m.Alert != nil:
		e.Data = m.Alert
	case m.Digest != nil:
		e.Data = m.Digest
	default:
		e.Data = map[string]string{"text": m.Text}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(&e)
	return bytes.TrimSpace(out.Bytes()), err
}

// Headline returns the message as one line of text.
func (m *Message) Headline() string {
	switch {
	case m.Alert != nil:
		a := m.Alert
		late := ""
		if a.Late {
			late = ", late"
		}
		return fmt.Sprintf("%s %s: %s, device %s, since %s%s", strings.ToUpper(a.Severity), a.State, a.Message, a.Device, a.Since.Format(time.RFC3339), late)
	case m.Digest != nil:
		d := m.Digest
		return fmt.Sprintf("%s: %d late alerts of rule %s on %d devices, %d open, from %s to %s",
			strings.ToUpper(d.Severity), d.Opened, d.Rule, d.Devices, d.Open, d.From.Format(time.RFC3339), d.To.Format(time.RFC3339))
	default:
		return m.Text
	}
}

// NewTest returns a message that tests a notifier.
func NewTest(now time.Time) *Message {
	return &Message{
		ID: messageID("test", now.Format(time.RFC3339Nano)), Type: Test, Time: now.UTC(),
		Text: "This is a test message of Varve.",
	}
}

func messageID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p) // a hash.Hash never returns an error
	}
	return "msg_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Notifier sends messages to one system. It is safe for concurrent use.
type Notifier interface {
	// Send sends a message, and returns once the receiver has confirmed it. An error may be a
	// *SendError; any other error is treated as Unreachable.
	Send(ctx context.Context, m *Message) error
}

// Refresher is implemented by notifiers whose receivers forget alerts that are not resent.
type Refresher interface {
	Notifier
	// Refresh resends delivered messages: the openings of open alerts, and recent resolutions. One
	// call has a limited number of them.
	Refresh(ctx context.Context, delivered []*Message) error
	// RefreshEvery returns the time between two calls of Refresh.
	RefreshEvery() time.Duration
	// RefreshResolved returns the time for which a resolution is refreshed.
	RefreshResolved() time.Duration
}

// Closer is implemented by notifiers that have open connections.
type Closer interface{ Close() }

// Fault classifies a failed attempt to send.
type Fault uint8

// The faults.
const (
	// Unreachable means that a later attempt may succeed. Attempts continue until the message has the
	// age GiveUp.
	Unreachable Fault = iota
	// Refused means that the receiver rejects the message. Attempts continue until the receiver has
	// refused the message for GiveUpRefused, or until the message has the age GiveUp. In that time,
	// an operator may repair the receiver or a credential.
	Refused
	// Gone means that the receiver does not exist any more. The message fails immediately. Other
	// messages are still sent.
	Gone
)

// SendError is a failed attempt to send a message.
type SendError struct {
	Fault Fault
	After time.Duration // if positive, the receiver asked for a pause of this length
	Err   error
}

// Error implements error.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// faultOf returns the fault of an error of Send, and the pause that the receiver asked for.
func faultOf(err error) (Fault, time.Duration) {
	var e *SendError
	if errors.As(err, &e) {
		return e.Fault, e.After
	}
	return Unreachable, 0
}
