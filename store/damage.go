package store

import (
	"strings"
	"time"

	"github.com/varvedb/varve"
)

// DamageError says what cannot be read because the data on disk is damaged. It
// is an [ErrDamaged] and a failure of kind [varve.Damaged].
type DamageError struct {
	Table    string       // its name; empty for entries of the registry, and for the catalog
	Series   varve.Series // the series that was asked for; zero if none was
	From, To time.Time    // the event times that may be lost; zero if unknown
	File     string       // the damaged file, for the operator; empty if unknown
	Err      error        // the cause, for the operator
}

// Error names the table and the series, and how to repair them. It shows
// neither keys nor files: clients see it.
func (e *DamageError) Error() string {
	var b strings.Builder
	switch {
	case e.Table == "":
		b.WriteString("registry")
	case e.Series == (varve.Series{}):
		b.WriteString("table " + e.Table)
	default:
		b.WriteString("table " + e.Table + ": series " + e.Series.String())
	}
	b.WriteString(": " + ErrDamaged.Error())
	if !e.From.IsZero() && !e.To.IsZero() {
		b.WriteString(" from " + e.From.UTC().Format(time.RFC3339) + " to " + e.To.UTC().Format(time.RFC3339))
	}
	b.WriteString(": the operator can see what is lost with varve verify, and accept it with varve repair")
	return b.String()
}

// Unwrap makes it an ErrDamaged and gives it its kind.
func (e *DamageError) Unwrap() []error {
	return []error{ErrDamaged, &varve.Error{Failure: varve.Damaged, Message: ErrDamaged.Error()}, e.Err}
}
