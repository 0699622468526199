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
	// retireMargin is the wait between the expiry of a table's last reading and its retirement.
	retireMargin = 2 * 24 * time.Hour
	// minAge is the least time between the end of an arrival month and the drop of its tables,
	// for any retention.
	minAge = 7 * 24 * time.Hour
)

// MaxMonthsAhead is the maximum of Policy.MonthsAhead.
const MaxMonthsAhead = 12

// Policy defines the schedule of tables.
type Policy struct {
	Grid      grid.Policy
	Retention *retention.Policy
	// Drop allows the rotator to drop tables. Otherwise it only retires them.
	Drop bool
	// Seal is the time after a month's end until which a request that arrived in the month may
	// write. 0 means one hour.
	Seal time.Duration
	// MonthsAhead is the number of later arrival months whose tables are created in advance. 0
	// means 1. Grid.Future is something else: the furthest that an event time may be after its
	// arrival.
	MonthsAhead int
	// Grace is the time for which a table stays retired, and can be restored, before it is dropped.
	// 0 means 7 days.
	Grace time.Duration
	// RecountGrace is the minimum time for which a table stays retired, because roll-ups may still
	// be recomputed from it.
	RecountGrace time.Duration
	// MaxDrops is the number of tables that one run may drop. 0 means 100.
	MaxDrops int
}

// WithDefaults returns the policy with defaults in place of zero fields.
func (p Policy) WithDefaults() Policy {
	if p.Seal == 0 {
		p.Seal = time.Hour
	}
	if p.MonthsAhead == 0 {
		p.MonthsAhead = 1
	}
	if p.Grace == 0 {
		p.Grace = 7 * 24 * time.Hour
	}
	if p.MaxDrops == 0 {
		p.MaxDrops = 100
	}
	return p
}

// Validate returns all violations, as joined Invalid errors with parameters.
func (p Policy) Validate() error {
	errs := []error{p.Grid.Validate(), p.Retention.Validate()}
	if p.Seal < 0 || p.Seal > minAge {
		errs = append(errs, varve.InvalidParam("seal", "%s is not from 0 to %s", p.Seal, timefmt.FormatDuration(minAge)))
	}
	if p.MonthsAhead < 0 || p.MonthsAhead > MaxMonthsAhead {
		errs = append(errs, varve.InvalidParam("months_ahead", "%d is not from 0 to %d", p.MonthsAhead, MaxMonthsAhead))
	}
	if p.Grace < 0 {
		errs = append(errs, varve.InvalidParam("grace", "%s is negative", p.Grace))
	}
	if p.MaxDrops < 0 {
		errs = append(errs, varve.InvalidParam("max_drops", "%d is negative", p.MaxDrops))
	}
	return errors.Join(errs...)
}

// retiredTime returns the time for which a table stays retired.
func (p Policy) retiredTime() time.Duration { return max(p.Grace, p.RecountGrace) }

// State is the stage of a table's life.
type State string

// The states of a table.
const (
	Ahead   State = "ahead"   // its arrival month has not begun
	Open    State = "open"    // arriving readings are written to it
	Sealed  State = "sealed"  // it receives no more readings
	Retired State = "retired" // all readings that it can hold have expired; it can be restored
)

// StateOf returns the state of a table.
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

// TierOf returns the tier that a table should have. It is hot if readings of the current week
// arrive in it, or will do so within a day.
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
	recent := grid.Range{Start: at.Add(-minAge).Unix(), End: at.Add(p.Grid.Future).Unix() + 1}
	if t.Overlaps(recent.Window()) {
		return store.Hot
	}
	return store.Warm
}

// RetireAt returns the time from which a table may be retired: two days after its last possible
// reading has expired. It is zero if readings never expire.
//
// A reading expires at max(event time, arrival) + retention. The arrival is before the end of
// the arrival month, and the event time is before the end of the range.
func (p Policy) RetireAt(t grid.Table, classRetention time.Duration) time.Time {
	last := t.Month.End().Add(retireMargin)
	if end := t.Window().To; end.After(last) {
		last = end
	}
	return retention.Add(last, classRetention)
}

// margin describes the time between a table's arrival month and its expiry, beside the retention.
func margin(t grid.Table) string {
	if end := t.Window().To; end.After(t.Month.End().Add(retireMargin)) {
		return "its events end " + end.Format(time.DateOnly)
	}
	return timefmt.FormatDuration(retireMargin) + " of margin"
}

// TableSchedule holds the times at which a table changes its state. A zero time means never.
type TableSchedule struct {
	Seals   time.Time
	Retires time.Time
	Drops   time.Time
	Why     string
}

// ScheduleOf returns the schedule of a table under the current policy and its current state.
func (p Policy) ScheduleOf(in *store.Info) TableSchedule {
	f := TableSchedule{Seals: in.Month.End().Add(p.Seal)}
	class, ok := p.Retention.ClassOfPrefix(in.Prefix)
	switch {
	case !ok:
		f.Why = "never: " + reasonNoClass
		return f
	case !in.Owned:
		f.Why = "never: owner tag is missing"
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
	kept := fmt.Sprintf("arrival month %s, class %s keeps %s, %s", in.Month, class.Name, timefmt.FormatDuration(class.Retention), margin(in.Table))
	if !p.Drop {
		f.Why = kept + "; never dropped while retention.drop is false"
		return f
	}
	f.Drops = f.Retires.Add(p.retiredTime())
	if earliest := in.Month.End().Add(minAge); f.Drops.Before(earliest) {
		f.Drops = earliest
	}
	f.Why = fmt.Sprintf("%s; %s of grace", kept, timefmt.FormatDuration(p.retiredTime()))
	return f
}

// Outage is the longest time without a run for which the service states a bound.
const Outage = 20 * 24 * time.Hour

// Bound returns the most tables that can exist at a time, if no outage of the rotator is
// longer. It returns false if tables are not dropped, because then no bound exists.
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
		life := p.Grid.Future + 7*24*time.Hour + retireMargin + c.Retention + p.retiredTime() + outage
		months := int(life/(28*24*time.Hour)) + 1
		// The expiring months, the current one, the one before it until it is sealed, and the
		// months ahead.
		bound += (months + 2 + p.WithDefaults().MonthsAhead) * largest
	}
	return bound, true
}
