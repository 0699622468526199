package store

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// Tier is how much a table is expected to be used; stores that can, tune it.
type Tier uint8

// The tiers.
const (
	Hot  Tier = iota + 1 // this month's readings of about now
	Warm                 // may still be written to
	Cold                 // sealed: read only
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

// Status is what a table can be used for.
type Status uint8

// The statuses.
const (
	Active Status = iota + 1
	Creating
	Deleting
	Gone // somebody deleted it
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

// Info describes a table. Fields marked (detail) are set only if details were
// asked for.
type Info struct {
	grid.Table
	Status  Status
	Retired time.Time // when it was retired; zero if it is not
	Owned   bool      // it is this deployment's: its readings may be read
	Lost    time.Time // since when readings are lost with the table, which somebody deleted; zero if none are

	Tier     Tier      // (detail)
	Created  time.Time // (detail)
	Hold     string    // (detail) why it must be kept; "" if it need not
	Readings int64     // (detail) distinct readings in it; may lag behind
	Bytes    int64     // (detail) approximately, on disk or billed
}

// Filter selects tables.
type Filter struct {
	// Prefixes: only tables whose name parses and has one of them.
	Prefixes []string
	// Any: besides these, all tables of this deployment, whatever their
	// prefix: those that carry its owner tag.
	Any bool
	// Window: only tables whose range overlaps it.
	Window varve.Window
	// Details asks for the fields of Info marked so.
	Details bool
	// SkipEmpty allows leaving out tables known to hold no reading.
	SkipEmpty bool
	// Fresh: a table is listed even if another process made it just now.
	Fresh bool
	// Lost: also tables that somebody deleted with their readings, of status Gone.
	Lost bool
	// Version: the list is at least as new as this version of a [Versioned]
	// catalog. "" asks for no version.
	Version string
}

// Catalog lists tables.
type Catalog interface {
	// Tables returns the selected tables ordered by name. Foreign names are
	// never among them.
	Tables(ctx context.Context, f Filter) ([]Info, error)
}

// Versioned is a Catalog whose lists may lack tables that other processes use
// for the first time.
type Versioned interface {
	Catalog
	// VersionKey returns the key of the item with the catalog's version, in
	// [VersionAttr]. The version changes before the first reading of a table is
	// written. Without the item, it is [NoVersion].
	VersionKey() Key
}

// The catalog's version in its item, and without one.
const (
	VersionAttr = "tables"
	NoVersion   = "none"
)

// Creator makes tables.
type Creator interface {
	// Create makes a table of a tier and returns when it can be used. It is
	// no error if the table is there; ErrForeign if it is there and not
	// Varve's.
	Create(ctx context.Context, t grid.Table, tier Tier) error
}

// Lifecycle changes and drops tables. Its methods fail with ErrNoTable if the
// table is not there.
type Lifecycle interface {
	// Tune sets the table's tier.
	Tune(ctx context.Context, t grid.Table, tier Tier) error
	// Retire marks the table as one that is to be dropped. It stays readable
	// until then. It fails with a HoldError if the table is on hold.
	Retire(ctx context.Context, t grid.Table, at time.Time) error
	// Restore takes a retired table back.
	Restore(ctx context.Context, t grid.Table) error
	// Hold keeps a table from being retired and dropped, for a reason; "" lifts
	// the hold.
	Hold(ctx context.Context, t grid.Table, reason string) error
	// Drop deletes a table with all of its readings. It fails with ErrRefused
	// unless the table is retired, owned and not on hold; a HoldError in the
	// last case.
	Drop(ctx context.Context, t grid.Table) error
}

// HoldError is the ErrRefused of a table that is on hold.
type HoldError struct{ Reason string } // of the hold

func (e *HoldError) Error() string { return "refused: it is on hold: " + e.Reason }

// Unwrap makes it an ErrRefused.
func (e *HoldError) Unwrap() error { return ErrRefused }

// Retirable returns why a table may not be retired, a HoldError; nil if it may.
// Stores call it in Retire, whoever else has checked before.
func Retirable(in *Info) error {
	if in.Hold != "" {
		return fmt.Errorf("retire %s: %w", in.Table, &HoldError{in.Hold})
	}
	return nil
}

// Droppable returns why a table may not be dropped, wrapping ErrRefused; nil
// if it may. Stores call it in Drop, whoever else has checked before.
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
