package notify

import (
	"slices"
	"time"

	"github.com/varvedb/varve/alerts"
)

type digestKey struct{ notifier, tenant, rule string }

// openDigest is a digest that collects messages until it is due.
type openDigest struct {
	id  string
	due time.Time
}

// digestFor returns the digest in which a message of an alert is counted.
//
// The fencing token of the lease is a part of the digest's id. So after a restart, no message joins
// a digest that may have been sent. A digest that is resent has the same id and the same messages.
func (s *Sender) digestFor(notifier string, a *alerts.Alert) (id string, due time.Time) {
	now := s.opts.Now().UTC()
	key := digestKey{notifier, a.Tenant, a.Rule}
	d := s.digests[key]
	if d == nil || !now.Before(d.due) {
		due := now.Add(s.opts.Digest)
		d = &openDigest{due: due, id: messageID("digest", notifier, a.Tenant, a.Rule, due.Format(time.RFC3339Nano), digits(int(s.held.Token())))}
		s.digests[key] = d
	}
	return d.id, d.due
}

// closeDigest makes sure that no message joins a digest that is sent now. The time at which the digest was
// due does not suffice, because the clock may be set back.
func (s *Sender) closeDigest(j *job) {
	first := j.parts[0]
	key := digestKey{first.Notifier, first.of.rec.Tenant, first.of.rec.Rule}
	if d := s.digests[key]; d != nil && d.id == first.Digest {
		delete(s.digests, key)
	}
}

func (s *Sender) summary(id string, parts []part) *Message {
	first := parts[0].of.rec
	d := &Summary{Tenant: first.Tenant, Rule: first.Rule, Severity: first.Severity, Late: true}
	var queued time.Time
	devices, open := map[string]bool{}, map[string]bool{}
	slices.SortFunc(parts, func(a, b part) int { return a.Number - b.Number })
	for _, p := range parts {
		rec := p.of.rec
		devices[rec.Device] = true
		if p.Queued.After(queued) {
			queued = p.Queued
		}
		if p.Type == Opened {
			d.Opened++
		} else {
			d.Resolved++
		}
		open[rec.Device+"#"+rec.Alert] = p.Type == Opened
		if d.From.IsZero() || p.Event.Before(d.From) {
			d.From = p.Event
		}
		if p.Event.After(d.To) {
			d.To = p.Event
		}
		if m := rec.message(p.delivery); m != nil && d.Message == "" {
			d.Message = m.Alert.Message
		}
	}
	for _, stays := range open {
		if stays {
			d.Open++
		}
	}
	d.Devices = len(devices)
	d.Command = "varve alerts list --severity " + d.Severity
	if s.opts.URL != "" {
		d.URL = s.opts.URL + "/v1/alerts?severity=" + d.Severity
	}
	return &Message{ID: id, Type: Digest, Time: queued, Digest: d}
}

// delayDigest sets the time of the next attempt for a digest. It does not write the records of the
// alerts. So after a restart, the digest is usually due immediately.
func (s *Sender) delayDigest(j *job, now time.Time) {
	attempts := j.parts[0].Attempts + 1
	next := now.Add(pauseAfter(attempts))
	for _, p := range j.parts {
		p.Attempts, p.Next = attempts, next
	}
}
