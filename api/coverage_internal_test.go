package api

import (
	"errors"
	"testing"

	"github.com/varvedb/varve"
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

// TestPrefixes_LeaveSharedError adds prefixes to the parameter of one error several times. The error must not
// change, because other requests may use it at the same time.
func TestPrefixes_LeaveSharedError(t *testing.T) {
	shared := varve.InvalidParam("limit", "too large")
	for _, add := range []func(error) error{inQuery, inBody, func(err error) error { return prefixParam(err, "query") }} {
		for range 2 {
			var e *varve.Error
			if err := add(shared); !errors.As(err, &e) || e.Param != "query.limit" && e.Param != "body.limit" || shared.Param != "limit" {
				t.Errorf("the parameter is %q, and %q in the shared error", e.Param, shared.Param)
			}
		}
	}
}
