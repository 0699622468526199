package store

import (
	"strings"
	"time"

	"github.com/varvedb/varve"
)

// DamageError is the error of a call that failed because stored data is damaged. It wraps
// [ErrDamaged] and has the kind [varve.Damaged].
type DamageError struct {
	Table    string       // name of the table; empty for the registry and for the catalog
	Series   varve.Series // requested series; zero if the call was not for a series
	From, To time.Time    // range of event times that may be lost; zero if unknown
	File     string       // damaged file, for the operator; empty if unknown
	Err      error        // cause of the damage, for the operator
}

// Error names the table, the series and the commands for a repair. It contains no keys of items and
// no file names, because clients see it.
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

// Unwrap returns ErrDamaged, an error of kind Damaged, and the cause.
func (e *DamageError) Unwrap() []error {
	return []error{ErrDamaged, &varve.Error{Failure: varve.Damaged, Message: ErrDamaged.Error()}, e.Err}
}
