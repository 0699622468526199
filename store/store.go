package store

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// Errors that every store returns alike; compare with errors.Is.
var (
	// ErrNoTable: the table does not exist, or is being deleted.
	ErrNoTable = errors.New("table does not exist")
	// ErrForeign: a table of that name exists and is not Varve's.
	ErrForeign = errors.New("table is not Varve's")
	// ErrRefused: the table is not in a state in which it may be retired, or
	// dropped.
	ErrRefused = errors.New("refused")
	// ErrCondition: an item's condition did not hold; nothing was written.
	ErrCondition = errors.New("condition does not hold")
	// ErrDamaged: stored data is missing, or cannot be read as it was written; see
	// DamageError and DamagedRow.
	ErrDamaged = errors.New("data is damaged")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("store is closed")
)

// Store is everything a store can do. All methods are safe for concurrent use.
// No method asks for the time except to tell expired items.
type Store interface {
	Writer
	Reader
	Catalog
	Creator
	Lifecycle
	Items
	// Close waits for what is under way and releases the store. Afterwards
	// every method returns ErrClosed.
	io.Closer
}

// Batch is the readings of one write that go to one table.
type Batch struct {
	Table    grid.Table
	Readings []varve.Reading // normalized, in any order
	// Layout returns how a series' readings are to lie; nil: by the zero Layout.
	Layout func(varve.Series) Layout
}

// LayoutOf returns how a series' readings are to lie.
func (b *Batch) LayoutOf(s varve.Series) Layout {
	if b.Layout == nil {
		return Layout{}
	}
	return b.Layout(s)
}

// Result is what became of a Batch.
type Result struct {
	// Verdicts holds one verdict per reading, in order, if Err is nil.
	Verdicts []varve.Verdict
	// Err means that nothing of the batch was written: ErrNoTable, or a
	// failure of the store.
	Err error
}

// Writer stores readings.
type Writer interface {
	// Write stores batches and returns a result for each, in order. Per
	// reading: Stored if it is new in its table, what store.Repeat says if the
	// table holds a reading of the same identity (whose values and arrival stay),
	// Rejected with a retryable code if it could not be stored. A reading that
	// occurs twice in one call is Stored once; the second one is a repeat of it.
	//
	// What is Stored or Duplicate is durable when Write returns, and seen by
	// every later consistent read. A reading is stored whole or not at all.
	// The readings' event times must lie in the table's range; arrivals should
	// lie in its write month. A reading that was written with another layout may
	// be Stored again; reads show it once, as it arrived first.
	//
	// The store keeps no reference to the batches after it returns.
	Write(ctx context.Context, batches []Batch) []Result
}

// Cost is what a read took, in the store's own units: on DynamoDB, requests
// and read request units.
type Cost struct {
	Requests int
	Units    float64
}

// Add adds another cost.
func (c *Cost) Add(d Cost) {
	c.Requests += d.Requests
	c.Units += d.Units
}

// Range asks for readings of one series in one table.
type Range struct {
	Table      grid.Table
	Series     varve.Series
	Window     varve.Window
	Order      varve.Order
	After      *varve.Position // only readings beyond it, in Order; nil: from the start
	Limit      int             // at most so many; 0: as many as the store likes
	Consistent bool            // see every reading acknowledged before
	Layout     Layout          // as wide as any that the series was written with
	// Damaged, if not nil, is called with each damaged row, which is skipped.
	// Otherwise reading fails with it. Several goroutines may call it at once.
	Damaged func(*DamagedRow)
}

// Page is a run of readings in the order asked for.
type Page struct {
	Readings []varve.Reading
	// More means that readings may follow the last one; ask again with After
	// set to its position. A page with More has at least one reading.
	More bool
	Cost Cost
}

// Latest asks for the latest reading of one series in one table.
type Latest struct {
	Table  grid.Table
	Series varve.Series
	By     varve.By
	// Cutoff excludes expired readings: those with neither event time nor
	// arrival after it.
	Cutoff     time.Time
	Consistent bool
	Layout     Layout            // as wide as any that the series was written with
	Damaged    func(*DamagedRow) // as in Range
}

// Reader reads one series in one table at a time.
type Reader interface {
	// Read returns the next page. It fails with ErrNoTable if the table is
	// not there. Readings and their slices belong to the caller; dst, if not
	// nil, is reused for them.
	Read(ctx context.Context, r Range, dst []varve.Reading) (Page, error)
	// Latest returns the latest live reading in the sense of By.Later; false if
	// there is none. It fails with ErrNoTable.
	Latest(ctx context.Context, l Latest) (varve.Reading, bool, Cost, error)
	// Estimate returns what reading a range to its end would cost, without
	// reading it.
	Estimate(ctx context.Context, r Range) (Cost, error)
}
