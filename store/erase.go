package store

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// Erasure selects the readings of one series in one table that must be erased.
type Erasure struct {
	Table  grid.Table
	Series varve.Series
	// Window begins and ends at whole hours, so that it contains each row window either completely
	// or not at all. It may exceed the range of the table.
	Window varve.Window
	// Arrived limits the erasure to readings that arrived at this time or earlier.
	Arrived time.Time
	// After, if set, limits the erasure to readings that arrived later than After.
	After  time.Time
	Layout Layout // at least as wide as every layout with which the series was written
}

// Covers reports whether the erasure deletes a reading with the given event time and arrival.
func (e *Erasure) Covers(at, arrived time.Time) bool {
	return e.Window.Contains(at) && !arrived.After(e.Arrived) && (e.After.IsZero() || arrived.After(e.After))
}

// Eraser deletes readings on purpose, before they expire.
type Eraser interface {
	// Erase deletes the readings of an erasure, and returns how many it deleted. All other readings
	// stay as they are.
	//
	// When Erase returns nil, no later read returns a covered reading that was acknowledged before
	// the call. That is also true after a crash. No file or row of the store then has these readings,
	// except files that were set aside because of damage, and snapshots. Readings that are written
	// during the call may remain. After an error, some of the covered readings may be deleted, and
	// Erase may be repeated.
	//
	// Erase fails with ErrNoTable if the table is missing, and with a HoldError if it is on hold. A
	// retired table is erased like any other, because it can be restored.
	Erase(ctx context.Context, e Erasure) (int64, error)
	// ErasureDelay returns how long a process may still treat an erased reading as stored. A
	// reading that is resent within this time may be judged a duplicate.
	ErasureDelay() time.Duration
	// PurgeItems removes the remains of deleted items of some partitions from the files of the
	// store.
	//
	// When it returns nil, no file of the store has the attributes of an item of these partitions
	// that was deleted before the call. The exceptions of Erase apply. The store's own lists of its
	// files may contain keys of items and names of devices until the second restart.
	PurgeItems(ctx context.Context, partitions []string) error
}

// Erasable returns an error that wraps a HoldError if readings of a table must not be erased,
// otherwise nil. Every store calls it in Erase.
func Erasable(in *Info) error {
	if in.Hold != "" {
		return fmt.Errorf("erase readings of %s: %w", in.Table, &HoldError{in.Hold})
	}
	return nil
}
