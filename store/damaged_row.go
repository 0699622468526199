package store

import (
	"fmt"

	"github.com/varvedb/varve"
)

// DamagedRow is a row of a table that cannot be read as it was written. As an
// error, it is an [ErrDamaged] and a failure of kind [varve.Damaged].
type DamagedRow struct {
	Table   string `json:"table,omitempty"`
	Series  string `json:"series"` // the row's hash key
	TS      string `json:"ts"`     // the row's sort key
	Problem string `json:"problem"`
}

// Error names the row, what is wrong with it, and what to do.
func (d *DamagedRow) Error() string {
	return fmt.Sprintf("table %s: row %s at ts %s: %s: mend the row or delete it, or read the others with damaged=skip; varve verify lists all of them",
		d.Table, d.Series, d.TS, d.Problem)
}

// Unwrap makes it an ErrDamaged and gives it its kind.
func (d *DamagedRow) Unwrap() []error {
	return []error{ErrDamaged, &varve.Error{Failure: varve.Damaged, Message: ErrDamaged.Error()}}
}
