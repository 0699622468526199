package rotator

import (
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

const (
	// margin is how long after the last reading of a table has expired the
	// table is retired.
	margin = 2 * 24 * time.Hour
	// floor is how long after its write month a table is kept at the least,
	// whatever the retention says.
	floor = 7 * 24 * time.Hour
)

// Policy says what becomes of tables.
type Policy struct {
	Grid      grid.Policy
	Retention *retention.Policy
	// Drop allows tables to be dropped. Without it they are retired only.
	Drop bool
	// Seal is how long after a month's end a request that arrived in it may
	// still be writing. 0 is one hour.
	Seal time.Duration
	// Grace is how long a table stays retired before it is dropped: the time
	// in which a mistake can be taken back. 0 is 7 days.
	Grace time.Duration
	// Count is how long a table stays retired at the least because what arrived
	// before it was may have to be counted from it.
	RecountGrace time.Duration
	// MaxDrops is how many tables one run may drop. 0 is 100.
	MaxDrops int
}

// WithDefaults returns the policy with the defaults of its zero fields.
func (p Policy) WithDefaults() Policy {
	if p.Seal == 0 {
		p.Seal = time.Hour
	}
	if p.Grace == 0 {
		p.Grace = 7 * 24 * time.Hour
	}
	if p.MaxDrops == 0 {
		p.MaxDrops = 100
	}
	return p
}

// Validate reports everything that is wrong with the policy, as joined Invalid
// errors with parameters.
func (p Policy) Validate() error {
	errs := []error{p.Grid.Validate(), p.Retention.Validate()}
	if p.Seal < 0 || p.Seal > floor {
		errs = append(errs, varve.InvalidParam("seal", "%s is not from 0 to %s", p.Seal, timefmt.FormatDuration(floor)))
	}
	if p.Grace < 0 {
		errs = append(errs, varve.InvalidParam("grace", "%s is negative", p.Grace))
	}
	if p.MaxDrops < 0 {
		errs = append(errs, varve.InvalidParam("max_drops", "%d is negative", p.MaxDrops))
	}
	return errors.Join(errs...)
}

// stay is how long a table stays retired.
func (p Policy) stay() time.Duration { return max(p.Grace, p.RecountGrace) }

// State is where a table is in its life.
type State string

// The states of a table.
const (
	Ahead   State = "ahead"   // its write month has not begun
	Open    State = "open"    // it is being written to
	Sealed  State = "sealed"  // nothing can be written to it any more
	Retired State = "retired" // all it can hold has expired; can be restored
)

// StateOf returns a table's state.
func (p Policy) StateOf(in *store.Info, now time.Time) State {
	switch {
	case !in.Retired.IsZero():
		return Retired
	case now.Before(in.Month.Start()):
		return Ahead
	case now.Before(in.Month.End().Add(p.Seal)):
		return Open
	default:
		return Sealed
	}
}

// TierOf returns the tier that a table should have: hot if this month's
// readings of about now go to it, or the next month's will within a day.
func (p Policy) TierOf(t grid.Table, now time.Time) store.Tier {
	if !now.Before(t.Month.End().Add(p.Seal)) {
		return store.Cold
	}
	at := now
	if begin := t.Month.Start(); at.Before(begin) {
		if begin.Sub(at) > 24*time.Hour {
			return store.Warm
		}
		at = begin
	}
	recent := grid.Range{Start: at.Add(-floor).Unix(), End: at.Add(p.Grid.Future).Unix() + 1}
	if t.Overlaps(recent.Window()) {
		return store.Hot
	}
	return store.Warm
}

// RetireAt returns when a table may be retired: two days after the last
// reading that it can hold has expired. The zero time is never.
//
// A reading in it expires at max(event time, arrival) + retention. It arrived
// before the write month's end, and happened before the range's end.
func (p Policy) RetireAt(t grid.Table, keep time.Duration) time.Time {
	last := t.Month.End().Add(margin)
	if end := t.Window().To; end.After(last) {
		last = end
	}
	return retention.Add(last, keep)
}

// Fate says when a table will be dropped, and why then.
type Fate struct {
	Seals   time.Time
	Retires time.Time // zero: never
	Drops   time.Time // zero: never
	Why     string
}

// FateOf returns a table's fate as things stand.
func (p Policy) FateOf(in *store.Info) Fate {
	f := Fate{Seals: in.Month.End().Add(p.Seal)}
	class, ok := p.Retention.ClassOfPrefix(in.Prefix)
	switch {
	case !ok:
		f.Why = "never: " + unclaimed
		return f
	case !in.Owned:
		f.Why = "never: it does not carry the owner tag"
		return f
	case in.Hold != "":
		f.Why = "not while it is on hold: " + in.Hold
		return f
	}
	f.Retires = p.RetireAt(in.Table, class.Retention)
	if f.Retires.IsZero() {
		f.Why = fmt.Sprintf("never: class %s keeps its readings forever", class.Name)
		return f
	}
	if !in.Retired.IsZero() {
		f.Retires = in.Retired
	}
	kept := fmt.Sprintf("written in %s, class %s keeps %s", in.Month, class.Name, timefmt.FormatDuration(class.Retention))
	if !p.Drop {
		f.Why = kept + "; never dropped while retention.drop is false"
		return f
	}
	f.Drops = f.Retires.Add(p.stay())
	if earliest := in.Month.End().Add(floor); f.Drops.Before(earliest) {
		f.Drops = earliest
	}
	f.Why = fmt.Sprintf("%s; %s of grace", kept, timefmt.FormatDuration(p.stay()))
	return f
}

// Bound returns the most tables there can be at a time under this policy, if
// no run of the rotator is missed for longer than outage. It is false if there
// is no bound, because tables are not dropped.
func (p Policy) Bound(now time.Time, outage time.Duration) (int, bool) {
	if !p.Drop {
		return 0, false
	}
	largest := 0
	for m := grid.MonthOf(now); m < grid.MonthOf(now)+120; m++ {
		largest = max(largest, len(p.Grid.Layout(m)))
	}
	bound := 0
	for _, c := range p.Retention.Classes {
		if c.Retention == retention.Forever {
			return 0, false
		}
		// From a month's beginning until the last of its tables is dropped;
		// its range may end after the month.
		life := p.Grid.Future + 7*24*time.Hour + margin + c.Retention + p.stay() + outage
		months := int(life/(28*24*time.Hour)) + 1
		// Those being aged out, the current one, the next, and the one before
		// it in the hour in which it is sealed.
		bound += (months + 3) * largest
	}
	return bound, true
}
