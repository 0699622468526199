package store

import (
	"fmt"

	"github.com/varvedb/varve"
)

// DamagedRow describes a row that cannot be decoded, or lost data of the embedded store. As an error, it wraps
// [ErrDamaged] and has the kind [varve.Damaged].
type DamagedRow struct {
	Table  string `json:"table,omitempty"`
	Series string `json:"series"` // hash key of the row; for the embedded store, the text of the series
	// TS is the sort key of the row. For the embedded store, it is the range of event times, with a slash
	// between the first time and the end. If the range is unknown, TS is empty.
	TS      string `json:"ts"`
	Problem string `json:"problem"`
}

// Error names the row and its problem, and the possible remedies.
func (d *DamagedRow) Error() string {
	return fmt.Sprintf("table %s: row %s at ts %s: %s: mend the row or delete it, or read the others with damaged=skip; varve verify lists all of them",
		d.Table, d.Series, d.TS, d.Problem)
}

// Unwrap returns ErrDamaged and an error of kind Damaged.
func (d *DamagedRow) Unwrap() []error {
	return []error{ErrDamaged, &varve.Error{Failure: varve.Damaged, Message: ErrDamaged.Error()}}
}
