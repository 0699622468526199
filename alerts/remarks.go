package alerts

import (
	"time"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
)

// Acknowledgement records the person who handles an alert. The zero value means that no person has
// acknowledged the alert.
type Acknowledgement struct {
	By      string // "" if the person gave no name
	At      time.Time
	Comment string
}

// remarks are the changes that people made to an alert. They stay when readings change the alert,
// and the alerts that replace it inherit them.
type remarks struct {
	resolved     time.Time // when a person resolved the alert; zero if no person did
	acknowledged Acknowledgement
	mutedUntil   time.Time
}

// put adds the remarks to the attributes of an item. The argument "resolved" names the attribute
// for the time of resolution. If it is empty, put leaves the time out.
func (s *remarks) put(attrs map[string]varve.Value, resolved string) {
	if resolved != "" {
		registry.PutTime(attrs, resolved, s.resolved)
	}
	registry.PutText(attrs, "ackBy", s.acknowledged.By)
	registry.PutText(attrs, "ackNote", s.acknowledged.Comment)
	registry.PutTime(attrs, "ackAt", s.acknowledged.At)
	registry.PutTime(attrs, "mutedUntil", s.mutedUntil)
}

// remarksOf decodes the remarks in an item. It inverts put.
func remarksOf(a *registry.Reader, resolved string) (s remarks) {
	if resolved != "" {
		s.resolved = a.Time(resolved)
	}
	s.acknowledged = Acknowledgement{By: a.Text("ackBy"), At: a.Time("ackAt"), Comment: a.Text("ackNote")}
	s.mutedUntil = a.Time("mutedUntil")
	return s
}

// merge adds the remarks of another alert. The alert's own remarks stay. Of two mutes, the one that
// ends later counts.
func (s *remarks) merge(other remarks) {
	if s.resolved.IsZero() {
		s.resolved = other.resolved
	}
	if s.acknowledged.At.IsZero() {
		s.acknowledged = other.acknowledged
	}
	if other.mutedUntil.After(s.mutedUntil) {
		s.mutedUntil = other.mutedUntil
	}
}

// maxRemark bounds the texts that people add to alerts, in bytes.
const maxRemark = 1024

func checkRemark(param, text string) error {
	switch {
	case len(text) > maxRemark:
		return varve.InvalidParam(param, "%d bytes are too long: the limit is %d", len(text), maxRemark)
	case !utf8.ValidString(text):
		return varve.InvalidParam(param, "the text is not UTF-8: send UTF-8")
	}
	return nil
}
