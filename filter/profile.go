package filter

import (
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// Profile records which fields and kinds of values the compared readings have. It explains why a
// filter matches nothing.
type Profile struct {
	Readings int // number of compared readings
	seen     []observation
}

// observation records the kinds of values that one condition was compared with.
type observation struct {
	condition Condition
	same      bool       // whether a value has the kind of the condition's value
	other     varve.Kind // kind of the first value of another kind; 0 means none
}

// NewProfile returns an empty profile of a filter.
func NewProfile(f Filter) Profile {
	s := Profile{}
	for _, c := range f {
		s.seen = append(s.seen, observation{condition: c})
	}
	return s
}

// Add records the kinds of the values that a reading has in the fields of the conditions.
func (s *Profile) Add(r *varve.Reading) {
	s.Readings++
	for i := range s.seen {
		o := &s.seen[i]
		if o.same {
			continue
		}
		switch kind := r.Field(o.condition.Field).Kind(); {
		case kind == o.condition.Value.Kind():
			o.same = true
		case o.other == 0:
			o.other = kind
		}
	}
}

// Merge adds the readings of another profile of the same filter. The zero Profile equals an empty
// profile.
func (s *Profile) Merge(t Profile) {
	if len(s.seen) == 0 {
		s.seen = slices.Clone(t.seen)
	}
	s.Readings += t.Readings
	for i := range t.seen {
		s.seen[i].same = s.seen[i].same || t.seen[i].same
		if s.seen[i].other == 0 {
			s.seen[i].other = t.seen[i].other
		}
	}
}

// UnseenFields returns the fields that no compared reading has. It returns none if no reading was
// compared.
func (s *Profile) UnseenFields() (names []string) {
	for i := range s.seen {
		o := &s.seen[i]
		if s.Readings > 0 && !o.same && o.other == 0 && !slices.Contains(names, o.condition.Field) {
			names = append(names, o.condition.Field)
		}
	}
	return names
}

// Mismatches returns a message for each condition whose field has only values of another kind.
func (s *Profile) Mismatches() (messages []string) {
	for i := range s.seen {
		o := &s.seen[i]
		if o.same || o.other == 0 {
			continue
		}
		value := o.condition.Value
		as, remedy := "a "+value.Kind().String(), "write a "+o.other.String()
		switch {
		case o.other == varve.KindString:
			remedy = "put the value in quotes"
		case o.other == varve.KindJSON:
			remedy = "use a field with numbers, strings or booleans"
		case value.Kind() == varve.KindString:
			as = "text"
		}
		messages = append(messages, fmt.Sprintf("field %s: its values here are of the kind %s, and %s is %s: %s",
			quote.Text(o.condition.Field), o.other, quote.Text(value.String()), as, remedy))
	}
	return messages
}
