package notify

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/internal/quote"
)

// State is the state of a delivery.
type State string

// The states.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
	Silent    State = "silent" // the message is not sent, because the rule's late alerts are silent
)

// States returns all states.
func States() []State { return []State{Pending, Delivered, Failed, Silent} }

// record has the reported state of an alert, and its deliveries. Only the sender writes it.
type record struct {
	alerts.AlertName
	created time.Time
	version int64 // 0 if the record is not stored
	content
}

// content is the part of a record that is stored as JSON.
type content struct {
	Rule       string            `json:"rule"`
	Severity   string            `json:"severity"`
	Reported   alerts.AlertState `json:"reported,omitempty"` // state in the last queued message; "" before any message
	Count      int               `json:"count"`              // number of messages that were queued for the alert
	Mode       alerts.LateMode   `json:"mode,omitempty"`     // mode of the last opening; "" if it was not late
	Targets    []string          `json:"targets,omitempty"`  // notifiers of the last opening, which also receive its resolution
	Shown      *Message          `json:"shown,omitempty"`    // last message that a Refresher may have to resend
	Messages   []*Message        `json:"messages,omitempty"` // messages with pending deliveries
	Deliveries []*delivery       `json:"deliveries,omitempty"`
}

// delivery is the state of one message for one notifier.
type delivery struct {
	Message  string    `json:"message"`
	Number   int       `json:"number"` // counts the messages of the alert, from 1
	Type     Type      `json:"type"`
	Notifier string    `json:"notifier"`
	State    State     `json:"state"`
	Event    time.Time `json:"event"` // event time of the opening or the resolution
	Queued   time.Time `json:"queued"`
	Next     time.Time `json:"next,omitzero"` // time of the next attempt
	Ended    time.Time `json:"ended,omitzero"`
	Refused  time.Time `json:"refused,omitzero"` // time since which all attempts were refused; zero if the last attempt was not
	Attempts int       `json:"attempts,omitempty"`
	Error    string    `json:"error,omitempty"`
	Digest   string    `json:"digest,omitempty"` // id of the digest in which the message is counted
}

// mostEnded is the number of ended deliveries in a record above which trim removes old ones.
const mostEnded = 20

// queuing has the data from which record.queue makes messages.
type queuing struct {
	targets []Target
	url     string
	now     time.Time
	// digest returns the id of the open digest of a notifier and a rule, and the time at which it
	// is due.
	digest func(notifier string, a *alerts.Alert) (id string, due time.Time)
}

// queue adds the messages that lead from the reported state of an alert to its present one. The rule
// is nil if it was deleted.
//
// If the opening of an open alert is muted, queue adds no message and returns the end of the mute. An
// alert that is resolved while its opening is muted is never reported.
func (r *record) queue(q *queuing, a *alerts.Published, rule *alerts.Rule, successor string) (mutedUntil time.Time) {
	open, reported := a.Open() && !a.Moved, r.Reported == alerts.Open
	r.Rule, r.Severity = a.Rule, string(a.Severity)
	if open && reported {
		return r.include(q, &a.Alert, rule)
	}
	if !reported && (open || r.Reported == "" && !a.Moved) {
		if until := muteEnd(&a.Alert, rule); until.After(q.now) {
			if open {
				return until
			}
			r.Reported = alerts.Resolved
			return time.Time{}
		}
		r.open(q, a, rule)
		reported = true
	}
	if reported && !open {
		r.Reported = alerts.Resolved
		data := dataOf(q, a)
		data.State, data.ResolvedBy, data.ReplacedBy = string(alerts.Resolved), a.ResolvedBy, successor
		at := a.ResolvedAt
		if a.Moved {
			data.ResolvedBy, at = alerts.Withdrawn, q.now
		}
		data.ResolvedAt = &at
		r.add(q, Resolved, data, at, &a.Alert)
	}
	return time.Time{}
}

func muteEnd(a *alerts.Alert, rule *alerts.Rule) time.Time {
	if rule != nil && rule.MutedUntil.After(a.MutedUntil) {
		return rule.MutedUntil
	}
	return a.MutedUntil
}

// lateFrom is the delay at which an opening counts as late. The delay is the time from the event
// time of the opening until Varve recorded the opening.
const lateFrom = time.Hour

// open adds the message about an opening. It sets the mode for this message and for the message
// about the resolution.
func (r *record) open(q *queuing, a *alerts.Published, rule *alerts.Rule) {
	known := a.KnownAt
	if known.IsZero() || r.Reported != "" { // if the alert opens once more, its opening is known only now
		known = q.now
	}
	late := a.Late || known.Sub(a.OpenedAt) >= lateFrom
	r.Mode = ""
	if late {
		if r.Mode = alerts.LateDigest; rule != nil && rule.Late != "" {
			r.Mode = rule.Late
		}
	}
	r.Reported, r.Targets = alerts.Open, targetsOf(q.targets, &a.Alert)
	data := dataOf(q, a)
	data.KnownSince, data.Late = known, late
	r.add(q, Opened, data, a.OpenedAt, &a.Alert)
}

// add adds a message, with one delivery for each target of the record.
func (r *record) add(q *queuing, kind Type, data *AlertData, event time.Time, a *alerts.Alert) {
	r.Count++
	m := &Message{ID: messageID(r.Tenant, r.Device, r.Alert, string(kind), digits(r.Count)), Type: kind, Time: q.now, Alert: data}
	if kind == Resolved && r.Shown != nil && r.Shown.Alert != nil {
		data.KnownSince, data.Late = r.Shown.Alert.KnownSince, r.Shown.Alert.Late
	}
	r.Shown = m
	r.addDeliveries(q, r.Targets, event, a)
}

// include delivers the opening of an open alert to the targets that have not received it, because
// they were added later. While the opening is muted, it adds nothing and returns the end of the mute.
func (r *record) include(q *queuing, a *alerts.Alert, rule *alerts.Rule) (mutedUntil time.Time) {
	added := slices.DeleteFunc(targetsOf(q.targets, a), func(name string) bool { return slices.Contains(r.Targets, name) })
	if len(added) == 0 || r.Shown == nil || r.Shown.Type != Opened {
		return time.Time{}
	}
	if until := muteEnd(a, rule); until.After(q.now) {
		return until
	}
	r.Targets = append(r.Targets, added...)
	r.addDeliveries(q, added, a.OpenedAt, a)
	return time.Time{}
}

// addDeliveries adds a delivery of the last message for each of the named targets.
func (r *record) addDeliveries(q *queuing, names []string, event time.Time, a *alerts.Alert) {
	m := r.Shown
	for _, name := range names {
		d := &delivery{Message: m.ID, Number: r.Count, Type: m.Type, Notifier: name, State: Pending, Event: event, Queued: q.now, Next: q.now}
		if r.Mode == alerts.LateSilent {
			d.State, d.Next, d.Ended = Silent, time.Time{}, q.now
		}
		if r.Mode == alerts.LateDigest {
			d.Digest, d.Next = q.digest(name, a)
		}
		r.Deliveries = append(r.Deliveries, d)
	}
	if !slices.ContainsFunc(r.Messages, func(other *Message) bool { return other.ID == m.ID }) {
		r.Messages = append(r.Messages, m)
	}
	r.trim()
}

// trim removes messages without pending deliveries, and all but the last mostEnded ended deliveries.
// It never removes deliveries of the last message, because they show which notifiers resend it.
func (r *record) trim() {
	wanted := map[string]bool{}
	ended := 0
	for _, d := range r.Deliveries {
		if d.State == Pending {
			wanted[d.Message] = true
		} else {
			ended++
		}
	}
	r.Messages = slices.DeleteFunc(r.Messages, func(m *Message) bool { return !wanted[m.ID] })
	r.Deliveries = slices.DeleteFunc(r.Deliveries, func(d *delivery) bool {
		if d.State == Pending || ended <= mostEnded || r.Shown != nil && d.Message == r.Shown.ID {
			return false
		}
		ended--
		return true
	})
}

func (r *record) message(d *delivery) *Message {
	for _, m := range r.Messages {
		if m.ID == d.Message {
			return m
		}
	}
	return nil
}

// state returns Pending if a delivery is pending. Otherwise it returns Failed if one has failed, or
// else Delivered.
func (r *record) state() State {
	state := Delivered
	for _, d := range r.Deliveries {
		if d.State == Pending {
			return Pending
		}
		if d.State == Failed {
			state = Failed
		}
	}
	return state
}

func dataOf(q *queuing, a *alerts.Published) *AlertData {
	d := &AlertData{
		ID: a.ID, Tenant: a.Tenant, Device: a.Device, Stream: a.Stream, Rule: a.Rule, Severity: string(a.Severity), State: string(alerts.Open),
		Message: cut(a.Message), Since: a.Since, OpenedAt: a.OpenedAt, KnownSince: a.KnownAt, Late: a.Late,
		Links: Links{Command: "varve alerts get " + a.ID},
	}
	if !a.Value.IsZero() {
		d.Value = valueJSON(a.Value)
	}
	if d.KnownSince.IsZero() {
		d.KnownSince = q.now
	}
	if q.url != "" {
		d.URL = q.url + "/v1/alerts/" + a.ID
	}
	return d
}

// longestText is the maximum length of a text in a message, in bytes. A record has two copies of a
// message, whose texts may be six times as long in JSON, and DynamoDB limits an item to 400 KB.
const longestText = 1024

// cut shortens a text to at most longestText bytes, and appends "…" if the text was longer.
func cut(s string) string {
	if len(s) <= longestText {
		return s
	}
	return quote.Cut(s, longestText) + "…"
}

func valueJSON(v varve.Value) json.RawMessage {
	if v.Kind() != varve.KindString {
		return json.RawMessage(v.String())
	}
	text, err := json.Marshal(cut(v.Text()))
	if err != nil { // does not happen: a string can always be encoded
		return nil
	}
	return text
}
