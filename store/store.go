package store

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// Errors of all stores. Compare them with errors.Is.
var (
	// ErrNoTable means that the table does not exist or is being deleted.
	ErrNoTable = errors.New("table does not exist")
	// ErrForeign means that the table to be created exists, but does not belong to this deployment.
	ErrForeign = errors.New("table is not Varve's")
	// ErrRefused means that the state of the table does not permit the operation, such as a drop.
	ErrRefused = errors.New("refused")
	// ErrCondition means that a condition was false and nothing was written.
	ErrCondition = errors.New("condition does not hold")
	// ErrDamaged means that stored data is missing or cannot be decoded; see DamageError and
	// DamagedRow.
	ErrDamaged = errors.New("data is damaged")
	// ErrClosed means that the store has been closed.
	ErrClosed = errors.New("store is closed")
)

// Store combines all required contracts. All methods are safe for concurrent use. A store uses its
// clock for the expiry of items, for recorded times and to scale tables. It does not compare the times
// of readings with its clock.
type Store interface {
	Writer
	Reader
	Enumerator
	Catalog
	Creator
	Lifecycle
	Eraser
	Items
	// Close waits for running calls and releases all resources of the store. Later calls return
	// ErrClosed.
	io.Closer
}

// Batch has the readings of one write for one table.
type Batch struct {
	Table grid.Table
	// Readings are normalized, in any order. A zero id stands for the content id, and Write may set
	// the content id in the slice.
	Readings []varve.Reading
	// Verdicts is memory that the writer may use for Result.Verdicts. It is nil, or has the length of
	// Readings.
	Verdicts []varve.Verdict
	// Layout returns the layout of a series. If nil, the zero Layout applies.
	Layout func(varve.Series) Layout
}

// SetContentIDs replaces zero ids with content ids.
func (b *Batch) SetContentIDs() {
	for i := range b.Readings {
		if r := &b.Readings[i]; r.ID.IsZero() {
			r.ID = r.ContentID()
		}
	}
}

// LayoutOf returns the layout with which a series is written.
func (b *Batch) LayoutOf(s varve.Series) Layout {
	if b.Layout == nil {
		return Layout{}
	}
	return b.Layout(s)
}

// Result is the result of writing one Batch.
type Result struct {
	// Verdicts has one verdict per reading, in the same order. It is valid if Err is nil.
	Verdicts []varve.Verdict
	// Err is set if no reading of the batch was written. It is ErrNoTable or a failure of the
	// store.
	Err error
}

// Writer stores readings. Each version of a reading counts as a reading with its own id.
type Writer interface {
	// Write stores batches and returns one result per batch, in the same order.
	//
	// Each reading gets one verdict:
	//
	//   - Stored, if it is new in its table.
	//   - The verdict of [Repeat], if the table has a reading with the same identity. The
	//     stored values and arrival do not change.
	//   - Rejected, if it could not be stored. A retry can succeed only if the code is retryable.
	//
	// If a reading occurs twice in one call, the second one is treated as a repeat of the first.
	// A reading that is Stored or Duplicate is durable when Write returns, and every later
	// consistent read returns it. A reading is stored as a whole or not at all.
	//
	// The event times must be in the range of the table, and the arrivals should be in its
	// arrival month. If a stored reading is written with another layout, it may be Stored a
	// second time. Reads return it once, with its first arrival.
	//
	// The store does not retain the batches after Write returns.
	Write(ctx context.Context, batches []Batch) []Result
}

// Cost is the cost of a read. On DynamoDB, Units are read request units.
type Cost struct {
	Requests int
	Units    float64
}

// Add adds another cost.
func (c *Cost) Add(d Cost) {
	c.Requests += d.Requests
	c.Units += d.Units
}

// Range selects readings of one series in one table.
type Range struct {
	Table      grid.Table
	Series     varve.Series
	Window     varve.Window
	Order      varve.Order
	After      *varve.Position // if set, only readings after this position, in the order of the range
	Limit      int             // maximum number of readings; 0 means that the store chooses
	Consistent bool            // if true, includes every acknowledged reading
	Layout     Layout          // at least as wide as every layout with which the series was written
	// Damaged, if not nil, is called for each damaged row, and the read skips the row. If Damaged
	// is nil, the read fails at the first damaged row. Calls may be concurrent. The embedded store calls
	// Damaged for each known lost range. If a read of the embedded store finds any other damage, it fails.
	Damaged func(*DamagedRow)
}

// Page is a part of the readings of a range, in the order of the range.
type Page struct {
	Readings []varve.Reading
	// More means that readings may follow. To continue, the caller sets After to the position of
	// the last reading. A page with More has at least one reading.
	More bool
	// Split means that the next reading may be another version of the last one. It is set only with
	// More.
	Split bool
	// Apart means that the next reading has another event time than the last reading of the page. It is
	// set only with More. If Apart is false, the times may be equal or not.
	//
	// If Apart is true, the caller may continue with the zero id in After, because the zero id precedes
	// all ids of its time. In descending order, After has the time of the last reading. In ascending
	// order, After is one nanosecond after that time.
	Apart bool
	Cost  Cost
}

// Latest selects the latest reading of one series in one table.
type Latest struct {
	Table  grid.Table
	Series varve.Series
	By     varve.By
	// Cutoff excludes expired readings, whose event time and arrival are both at or before
	// Cutoff.
	Cutoff     time.Time
	Consistent bool
	Layout     Layout            // at least as wide as every layout with which the series was written
	Damaged    func(*DamagedRow) // called for each damaged row, like Range.Damaged
}

// Reader reads one series of one table at a time.
type Reader interface {
	// Read returns the next page. It fails with ErrNoTable if the table is missing. The caller
	// owns the readings and their slices. If dst is not nil, Read reuses its memory.
	Read(ctx context.Context, r Range, dst []varve.Reading) (Page, error)
	// Latest returns the latest live reading by the order of By.Later, or false if none exists. A
	// reading does not count if the table has a higher version of it that is also live. Latest fails
	// with ErrNoTable if the table is missing.
	Latest(ctx context.Context, l Latest) (varve.Reading, bool, Cost, error)
	// Estimate returns the approximate cost of reading a whole range, without reading it.
	Estimate(ctx context.Context, r Range) (Cost, error)
}
