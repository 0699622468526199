package fleet

import (
	"time"
	"unicode/utf8"

	"github.com/varvedb/varve"
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
		putTime(attrs, resolved, s.resolved)
	}
	put(attrs, "ackBy", s.acknowledged.By)
	put(attrs, "ackNote", s.acknowledged.Note)
	putTime(attrs, "ackAt", s.acknowledged.At)
	putTime(attrs, "mutedUntil", s.mutedUntil)
}

// said returns what put added.
func (a *attrs) said(resolved string) (s said) {
	if resolved != "" {
		s.resolved = a.time(resolved)
	}
	s.acknowledged = Acknowledgement{By: a.text("ackBy"), At: a.time("ackAt"), Note: a.text("ackNote")}
	s.mutedUntil = a.time("mutedUntil")
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
