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
	// retireMargin is the shortest time between the end of an arrival month and the time from
	// which RetireAt counts the retention.
	retireMargin = 2 * 24 * time.Hour
	// minAge is the shortest time between the end of an arrival month and the drop of its tables,
	// whatever their retention.
	minAge = 7 * 24 * time.Hour
)

// MaxMonthsAhead is the largest allowed value of Policy.MonthsAhead.
const MaxMonthsAhead = 12

// Policy defines which tables are created, and when they are sealed, retired and dropped.
type Policy struct {
	Grid      grid.Policy
	Retention *retention.Policy
	// Drop allows the rotator to drop tables. Otherwise it only retires them.
	Drop bool
	// ArchiveFirst permits the drop of a table only if the table has a verified archive. Single expired
	// readings are not deleted then.
	ArchiveFirst bool
	// Seal is how long requests of an arrival month may still write after the month has ended. 0
	// means one hour.
	Seal time.Duration
	// MonthsAhead is the number of arrival months after the current one whose tables are created
	// in advance. 0 means 1. Grid.Future is different: it limits how far an event time may be
	// after its arrival.
	MonthsAhead int
	// Grace is how long a table stays retired before it may be dropped. During that time, it can
	// be restored. 0 means 7 days.
	Grace time.Duration
	// RecountGrace is another minimum for the time that a table stays retired. During that time,
	// roll-ups may still be recomputed from its readings.
	RecountGrace time.Duration
	// MaxDrops is the largest number of tables that one run may drop. 0 means 100.
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

// Validate returns an error that joins the errors of Grid, of Retention and of the other settings. Each is
// an Invalid error with its parameter.
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

// retiredTime returns how long a table stays retired before it may be dropped.
func (p Policy) retiredTime() time.Duration { return max(p.Grace, p.RecountGrace) }

// State is the stage of a table between its creation and its drop.
type State string

// The states of a table.
const (
	Ahead   State = "ahead"   // the arrival month of the table has not begun
	Open    State = "open"    // the arrival month has begun, and readings may be written to the table
	Sealed  State = "sealed"  // no more readings are written to the table
	Retired State = "retired" // all readings that can be in the table have expired; the table can be restored
)

// ArchiveDue reports whether a table should be archived. A table is due if it is sealed and all readings
// that can be in it have expired. Tables on hold are archived, too.
func (p Policy) ArchiveDue(in *store.Info, now time.Time) bool {
	class, ok := p.Retention.ClassOfPrefix(in.Prefix)
	if !ok || !in.Owned || in.Status != store.Active {
		return false
	}
	if now.Before(in.Month.End().Add(p.Seal)) {
		return false // the table is not sealed, so further readings may arrive
	}
	due := p.RetireAt(in.Table, class.Retention)
	return !in.Retired.IsZero() || !due.IsZero() && !now.Before(due)
}

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

// TierOf returns the tier that a table should have now. A sealed table is Cold. Any other table is Hot if
// its arrival month has begun or begins within a day, and its range includes recent event times.
// Otherwise, it is Warm. Event times are recent from seven days before now until Grid.Future after
// now. Before the arrival month begins, its beginning counts as now.
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

// RetireAt returns the time from which a table may be retired. The retention counts from two days
// after the arrival month, or from the end of the table's range if that is later. RetireAt returns
// the zero time if the readings never expire.
//
// A reading expires at max(event time, arrival) + retention. The arrival is before the end of the
// arrival month, and the event time is before the end of the range.
func (p Policy) RetireAt(t grid.Table, classRetention time.Duration) time.Time {
	last := t.Month.End().Add(retireMargin)
	if end := t.Window().To; end.After(last) {
		last = end
	}
	return retention.Add(last, classRetention)
}

// margin describes the delay between the end of a table's arrival month and the time from which
// RetireAt counts the retention.
func margin(t grid.Table) string {
	if end := t.Window().To; end.After(t.Month.End().Add(retireMargin)) {
		return "its events end " + end.Format(time.DateOnly)
	}
	return timefmt.FormatDuration(retireMargin) + " of margin"
}

// TableSchedule has the times at which a table changes its state. A zero time means never.
type TableSchedule struct {
	Seals   time.Time
	Retires time.Time
	Drops   time.Time
	Why     string
}

// ScheduleOf returns the schedule of a table. It depends on the policy and the current state of
// the table.
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
	if p.ArchiveFirst {
		kept += "; only dropped once it is archived"
	}
	f.Drops = f.Retires.Add(p.retiredTime())
	f.Why = fmt.Sprintf("%s; %s of grace", kept, timefmt.FormatDuration(p.retiredTime()))
	if earliest := in.Month.End().Add(minAge); f.Drops.Before(earliest) {
		f.Drops = earliest
		f.Why += fmt.Sprintf(", and at least %s after the arrival month", timefmt.FormatDuration(minAge))
	}
	return f
}

// Outage is the assumed longest time between two runs, from which the service computes Bound.
const Outage = 20 * 24 * time.Hour

// Bound returns an upper limit for the number of tables that exist at the same time. It assumes that no
// table is on hold, and that no archive fails. The parameter "outage" is the longest time between two runs.
// Bound returns false if the policy never drops some tables, because then no limit exists.
func (p Policy) Bound(now time.Time, outage time.Duration) (int, bool) {
	if !p.Drop {
		return 0, false
	}
	largest := 0
	for m := grid.MonthOf(now); m < grid.MonthOf(now)+120; m++ {
		largest = max(largest, len(p.Grid.Ranges(m)))
	}
	bound := 0
	for _, c := range p.Retention.Classes {
		if c.Retention == retention.Forever {
			return 0, false
		}
		// life is the longest time from the end of an arrival month until the last of its tables is
		// dropped. The ranges of the tables may end up to Grid.Future and a week after the month.
		life := p.Grid.Future + 7*24*time.Hour + retireMargin + c.Retention + p.retiredTime() + outage
		months := int(life/(28*24*time.Hour)) + 1
		// The bound includes the months whose tables are expiring, the current month, the month
		// before it until it is sealed, and the months ahead.
		bound += (months + 2 + p.WithDefaults().MonthsAhead) * largest
	}
	return bound, true
}
