package store

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// Tier is the expected use of a table. A store may tune the table for its tier.
type Tier uint8

// The tiers of a table, from the most to the least expected use.
const (
	Hot  Tier = iota + 1 // receives and contains current readings
	Warm                 // may still receive readings
	Cold                 // sealed: receives no further readings
)

func (t Tier) String() string {
	switch t {
	case Hot:
		return "hot"
	case Warm:
		return "warm"
	case Cold:
		return "cold"
	default:
		return "none"
	}
}

// Status is the state of a table.
type Status uint8

// The states of a table, as its store reports them.
const (
	Active Status = iota + 1
	Creating
	Deleting
	Gone // deleted by another program
)

func (s Status) String() string {
	switch s {
	case Active:
		return "active"
	case Creating:
		return "creating"
	case Deleting:
		return "deleting"
	case Gone:
		return "gone"
	default:
		return "unknown"
	}
}

// Info describes a table. The fields marked (detail) are valid only if Filter.Details is true.
type Info struct {
	grid.Table
	Status  Status
	Retired time.Time // time of its retirement; zero if it is not retired
	Owned   bool      // whether the table has the owner tag of this deployment, so that its readings may be read
	Lost    time.Time // time since which readings are lost, because another program deleted the table; otherwise zero

	Tier     Tier      // (detail)
	Created  time.Time // (detail)
	Hold     string    // (detail) the reason of the hold; "" if it is not on hold
	Readings int64     // (detail) number of distinct readings; may be out of date
	Bytes    int64     // (detail) approximate size, on disk or billed
}

// Filter selects tables.
type Filter struct {
	// Prefixes selects tables whose names can be parsed and have one of the prefixes.
	Prefixes []string
	// Any also selects all tables with the owner tag of this deployment, whatever their prefix.
	Any bool
	// Window selects tables whose range overlaps it.
	Window varve.Window
	// Details sets the fields of Info that are marked (detail).
	Details bool
	// SkipEmpty permits the catalog to omit tables that it knows to be empty.
	SkipEmpty bool
	// Fresh makes sure that the list includes tables that another process has just created.
	Fresh bool
	// Lost also selects tables that another program deleted with their readings. Their status is
	// Gone.
	Lost bool
	// Version requires a list that is at least as new as this version of a [Versioned] catalog.
	// If empty, any list is sufficient.
	Version string
}

// Catalog lists tables.
type Catalog interface {
	// Tables returns the selected tables ordered by name. It omits tables whose names cannot be
	// parsed.
	Tables(ctx context.Context, f Filter) ([]Info, error)
}

// Versioned is the optional contract of a Catalog whose lists may lack tables that other
// processes have just created.
type Versioned interface {
	Catalog
	// VersionKey returns the key of the item whose attribute [VersionAttr] is the version of the
	// catalog.
	//
	// The version changes before the first reading of a table is written. If the item is missing,
	// the version is [NoVersion].
	VersionKey() Key
}

// VersionAttr is the attribute with the version of the catalog. NoVersion is the version if the
// item of VersionKey is missing.
const (
	VersionAttr = "tables"
	NoVersion   = "none"
)

// Creator creates tables.
type Creator interface {
	// Create creates a table with a tier and returns when the table is usable. If the table exists
	// and belongs to this deployment, Create succeeds and the tier does not change. If the table
	// belongs to another owner, Create fails with ErrForeign.
	Create(ctx context.Context, t grid.Table, tier Tier) error
}

// Lifecycle changes and drops tables. Its methods fail with ErrNoTable if the table is missing.
type Lifecycle interface {
	// Tune sets the table's tier.
	Tune(ctx context.Context, t grid.Table, tier Tier) error
	// Retire marks the table as due for deletion. The table remains readable. Retire fails with a
	// HoldError if the table is on hold.
	Retire(ctx context.Context, t grid.Table, at time.Time) error
	// Restore cancels the retirement of a table.
	Restore(ctx context.Context, t grid.Table) error
	// Hold prevents a table from being retired or dropped, and records the reason. The reason ""
	// releases the hold.
	Hold(ctx context.Context, t grid.Table, reason string) error
	// Drop deletes a table and all of its readings. It fails with ErrRefused unless the table is
	// owned, retired and not on hold. If the table is on hold, the error is a HoldError. For a table
	// that is not owned, the error may also be ErrNoTable.
	Drop(ctx context.Context, t grid.Table) error
}

// Scaler is the optional contract of a store whose tables have a capacity that follows their use.
type Scaler interface {
	// ReportUse publishes the capacity that this process has used since the last call. Scale reads
	// the reports of all processes. ReportUse returns true if the template allows Scale to change the
	// capacity of some tables. Each process calls ReportUse every minute.
	ReportUse(ctx context.Context) (scales bool, err error)
	// Scale changes the capacity of tables according to the reported use, and returns the changes,
	// also after an error. One process at a time should call Scale, so that no process waits for
	// another.
	Scale(ctx context.Context) ([]CapacityChange, error)
}

// CapacityChange is a change of the capacity of a table, in units per second.
type CapacityChange struct {
	Table                                grid.Table
	ReadFrom, ReadTo, WriteFrom, WriteTo int64
}

// Expirer is the optional contract of a store that deletes expired readings on request. Stores
// whose database deletes them on its own do not implement it.
type Expirer interface {
	// DeleteExpired deletes the expired readings of a table, and returns how many it deleted. A reading
	// has expired if its event time and its arrival are not after the cutoff of its series. If the
	// cutoff of a series is zero, its readings stay. If inUse is not nil, readings also stay if inUse
	// returns true for their event time.
	//
	// DeleteExpired may skip readings that were written recently, or that cannot be read; a later
	// call deletes them. It fails with a HoldError if the table is on hold. It fails with
	// ErrRefused if the table is retired, because a retired table can be restored until it is
	// dropped.
	DeleteExpired(ctx context.Context, t grid.Table, cutoff func(varve.Series) time.Time, inUse func(event time.Time) bool) (int64, error)
}

// DropCompleter is the optional contract of a Lifecycle whose drops can be interrupted after a table was
// deleted.
type DropCompleter interface {
	// CompleteDrops removes the remains of tables that interrupted drops have deleted. Only the rotator
	// calls it.
	CompleteDrops(ctx context.Context) error
}

// ExpiredKeeper is the optional contract of a store whose database deletes expired readings on its own.
type ExpiredKeeper interface {
	// KeepExpired stops the deletion of expired readings in all tables of this deployment. Until it
	// returns nil, the database may delete readings.
	KeepExpired(ctx context.Context) error
}

// Expirable returns an error that wraps ErrRefused if expired readings of a table must not be deleted,
// otherwise nil. Every Expirer calls it in DeleteExpired.
func Expirable(in *Info) error {
	switch {
	case in.Hold != "":
		return fmt.Errorf("delete expired readings of %s: %w", in.Table, &HoldError{in.Hold})
	case !in.Retired.IsZero():
		return fmt.Errorf("delete expired readings of %s, which is retired: %w", in.Table, ErrRefused)
	}
	return nil
}

// HoldError means that a table is on hold. It wraps ErrRefused.
type HoldError struct{ Reason string }

func (e *HoldError) Error() string { return "refused: it is on hold: " + e.Reason }

// Unwrap returns ErrRefused.
func (e *HoldError) Unwrap() error { return ErrRefused }

// Retirable returns an error that wraps a HoldError if a table must not be retired, otherwise nil.
// Every store calls it in Retire.
func Retirable(in *Info) error {
	if in.Hold != "" {
		return fmt.Errorf("retire %s: %w", in.Table, &HoldError{in.Hold})
	}
	return nil
}

// Droppable returns an error that wraps ErrRefused if a table must not be dropped, otherwise
// nil. Every store calls it in Drop.
func Droppable(in *Info) error {
	switch {
	case !in.Owned:
		return fmt.Errorf("drop %s: %w: it does not carry the owner tag", in.Table, ErrRefused)
	case in.Hold != "":
		return fmt.Errorf("drop %s: %w", in.Table, &HoldError{in.Hold})
	case in.Retired.IsZero():
		return fmt.Errorf("drop %s: %w: it is not retired", in.Table, ErrRefused)
	}
	return nil
}
