package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/internal/quote"
)

// notesTrailer is the trailer with the notes of an answer in NDJSON, CSV or Arrow, as JSON.
const notesTrailer = "Varve-Notes"

// missingFields lists the requested fields that no reading of an answer had so far.
type missingFields []string

func newMissingFields(fields []string) missingFields {
	return slices.Compact(slices.Sorted(slices.Values(fields)))
}

func (m *missingFields) remove(found func(name string) bool) {
	if len(*m) > 0 {
		*m = slices.DeleteFunc(*m, found)
	}
}

// addReadings updates the set for readings of the answer: their fields are no longer missing.
func (m *missingFields) addReadings(readings []varve.Reading) {
	for i := range readings {
		if len(*m) == 0 {
			return
		}
		m.remove(func(name string) bool { return !readings[i].Field(name).IsZero() })
	}
}

// addColumns updates the set for columns of the answer: their fields are no longer missing.
func (m *missingFields) addColumns(parts []block.Part) {
	for i := range parts {
		p := &parts[i]
		m.remove(func(name string) bool {
			return slices.ContainsFunc(p.Columns, func(c block.Column) bool { return c.Name == name && c.HasAny(p) })
		})
	}
}

func (m missingFields) notes() []wire.Note { return fieldNotes("query.fields", m) }

// fieldNotes returns a note on each of the given fields, which a parameter names and the answer lacks.
func fieldNotes(param string, names []string) (notes []wire.Note) {
	for _, name := range names {
		notes = append(notes, wire.Note{Param: param, Message: "field " + quote.Text(name) + ": not found in this answer: check its name"})
	}
	return notes
}

// whereNotes returns a note for each field of the parameter "where" that no compared reading has. It
// also returns one for each condition whose field has only values of another kind.
func whereNotes(s *filter.Profile) []wire.Note {
	notes := fieldNotes("query.where", s.UnseenFields())
	for _, message := range s.Mismatches() {
		notes = append(notes, wire.Note{Param: "query.where", Message: message})
	}
	return notes
}

// trailerNotes is the maximum number of notes in a trailer: see trailerTables.
const trailerNotes = 8

// setNotes adds notes to the trailer of an answer. It omits notes beyond trailerNotes.
func setNotes(h http.Header, notes []wire.Note) {
	if len(notes) == 0 {
		return
	}
	// Notes can always be marshaled.
	text, _ := wire.MarshalJSON(notes[:min(len(notes), trailerNotes)])
	h.Set(notesTrailer, asciiJSON(text))
}

// asciiJSON escapes the characters of JSON that a header must not have.
func asciiJSON(text []byte) string {
	var b strings.Builder
	for _, c := range string(text) {
		if c < 0x7f {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
