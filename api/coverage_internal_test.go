package api

import (
	"testing"

	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
)

// TestShortened_CountsAllOmitted shortens a coverage whose lists are cut already. The counts must include the
// entries that were cut before.
func TestShortened_CountsAllOmitted(t *testing.T) {
	full := query.Coverage{
		Read: make([]string, trailerTables+5), MoreRead: 100,
		Damaged: make([]store.DamagedRow, trailerRows+2), MoreDamaged: 7,
	}
	c := shortened(full)
	if len(c.Read) != trailerTables || c.MoreRead != 105 {
		t.Errorf("%d tables read and %d more, want %d and 105", len(c.Read), c.MoreRead, trailerTables)
	}
	if len(c.Damaged) != trailerRows || c.MoreDamaged != 9 {
		t.Errorf("%d damaged rows and %d more, want %d and 9", len(c.Damaged), c.MoreDamaged, trailerRows)
	}
}
