package alerts

import (
	"time"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
)

// Acknowledgement says who has taken notice of an alert. The zero value is
// nobody.
type Acknowledgement struct {
	By   string // "" if whoever it was gave no name
	At   time.Time
	Note string
}

// said is what people said of an alert. It stays when readings change the alert,
// and goes over to the alerts that take its place.
type said struct {
	resolved     time.Time // by hand; zero if it was not
	acknowledged Acknowledgement
	mutedUntil   time.Time
}

// put adds what was said to an item's attributes. The name of the time at which
// an alert was resolved differs between items.
func (s *said) put(attrs map[string]varve.Value, resolved string) {
	if resolved != "" {
		registry.PutTime(attrs, resolved, s.resolved)
	}
	registry.PutText(attrs, "ackBy", s.acknowledged.By)
	registry.PutText(attrs, "ackNote", s.acknowledged.Note)
	registry.PutTime(attrs, "ackAt", s.acknowledged.At)
	registry.PutTime(attrs, "mutedUntil", s.mutedUntil)
}

// said returns what put added.
func saidOf(a *registry.Reader, resolved string) (s said) {
	if resolved != "" {
		s.resolved = a.Time(resolved)
	}
	s.acknowledged = Acknowledgement{By: a.Text("ackBy"), At: a.Time("ackAt"), Note: a.Text("ackNote")}
	s.mutedUntil = a.Time("mutedUntil")
	return s
}

// add takes over what was said of another alert, where nothing was said yet.
func (s *said) add(other said) {
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

// maxWords bounds the texts that people add to alerts, in bytes.
const maxWords = 1024

// checkWords checks a text that people add to an alert.
func checkWords(param, text string) error {
	switch {
	case len(text) > maxWords:
		return varve.InvalidParam(param, "%d bytes are too long: the limit is %d", len(text), maxWords)
	case !utf8.ValidString(text):
		return varve.InvalidParam(param, "the text is not UTF-8: send UTF-8")
	}
	return nil
}
