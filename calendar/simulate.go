package calendar

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// day is the time in which the load of Options.Daily arrives.
const day = 24 * time.Hour

// Load is a number of readings and their bytes.
type Load struct {
	Readings, Bytes float64
	Measured        time.Duration // time over which the load was measured; 0 means that it was not measured
}

func (l Load) scaled(by float64) Load { return Load{l.Readings * by, l.Bytes * by, l.Measured} }

// plus returns the sum of two loads. Its measured time is the shorter of the two measured times. A
// time of 0 is ignored.
func (l Load) plus(m Load) Load {
	sum := Load{l.Readings + m.Readings, l.Bytes + m.Bytes, l.Measured}
	if l.Measured == 0 || m.Measured > 0 && m.Measured < l.Measured {
		sum.Measured = m.Measured
	}
	return sum
}

// Options are the input of Simulate. Policy, Now and Until are required.
type Options struct {
	Policy     rotator.Policy
	Now, Until time.Time
	Tables     []store.Info    // the existing tables, with details
	Daily      map[string]Load // the load of a day, by class
	Quota      int             // the maximum number of tables of the account; 0 means no limit
	Others     int             // number of tables of the account that the rotator does not manage
	// ExpireGrace is a minimum for the time between the expiry of a reading and its deletion by the
	// store. Policy.RecountGrace is a minimum for the time between its arrival and its deletion.
	// The store deletes readings if Policy.Drop is set and Policy.ArchiveFirst is not.
	ExpireGrace time.Duration
	// EndAtQuota ends the simulation when the quota is exceeded.
	EndAtQuota bool
}

// Month is the forecast of one calendar month.
type Month struct {
	Month                                      grid.Month
	Created, Tuned, Retired, Restored, Dropped int
	Tables                                     int  // number of tables at the end of the month
	Most                                       int  // the largest number of tables in the month
	Arrived                                    Load // load that arrived in the month
	Stored                                     Load // load that is stored at the end of the month
}

// Actions returns the number of actions of the rotator in the month.
func (m *Month) Actions() int { return m.Created + m.Tuned + m.Retired + m.Restored + m.Dropped }

// Forecast is the result of Simulate.
type Forecast struct {
	Months []Month
	Most   int // the largest number of tables at a time
	// QuotaMet is the time at which the number of tables would exceed the quota. It is zero if the
	// quota suffices.
	QuotaMet time.Time
}

// Simulate forecasts the tables from Now until Until. It fails if the context ends.
func Simulate(ctx context.Context, o Options) (Forecast, error) {
	o.Policy, o.Now, o.Until = o.Policy.WithDefaults(), o.Now.UTC(), o.Until.UTC()
	s := &simulation{
		Options: o, at: map[grid.Table]int{}, due: map[grid.Table]time.Time{}, load: map[grid.Table]Load{},
		arrivals: map[grid.Table][]arrival{},
		tables:   make([]store.Info, 0, len(o.Tables)),
	}
	for i := range o.Tables {
		in := &o.Tables[i]
		s.insert(in)
		if begin, end := later(in.Created, in.Month.Start()), earlierOf(o.Now, in.Month.End()); begin.Before(end) {
			s.arrivals[in.Table] = []arrival{{begin, end, s.load[in.Table]}}
		}
	}
	for now := o.Now; now.Before(o.Until); {
		if err := ctx.Err(); err != nil {
			return Forecast{}, context.Cause(ctx)
		}
		s.rotate(now)
		if o.EndAtQuota && !s.forecast.QuotaMet.IsZero() {
			break
		}
		next := s.next(now)
		s.arrive(now, next)
		s.expire(next)
		now = next
	}
	return s.forecast, nil
}

type simulation struct {
	Options

	tables   []store.Info
	at       map[grid.Table]int       // for each table, its index in tables
	due      map[grid.Table]time.Time // for each table, when it is retired or dropped next
	load     map[grid.Table]Load      // load that each table stores
	arrivals map[grid.Table][]arrival // for each table, the parts of its load, the oldest first
	opened   []store.Info             // last result of open, whose memory the next call reuses
	stored   Load                     // sum of load
	forecast Forecast
}

// month returns the forecast of the month that contains a time.
func (s *simulation) month(now time.Time) *Month {
	m := grid.MonthOf(now)
	if n := len(s.forecast.Months); n == 0 || s.forecast.Months[n-1].Month != m {
		s.forecast.Months = append(s.forecast.Months, Month{Month: m})
	}
	return &s.forecast.Months[len(s.forecast.Months)-1]
}

func (s *simulation) insert(in *store.Info) {
	s.at[in.Table] = len(s.tables)
	s.tables = append(s.tables, *in)
	l := Load{Readings: float64(in.Readings), Bytes: float64(in.Bytes)}
	s.load[in.Table], s.stored = l, s.stored.plus(l)
	s.schedule(in)
}

// schedule records when a table is retired or dropped next.
func (s *simulation) schedule(in *store.Info) {
	at := s.Policy.ScheduleOf(in)
	s.due[in.Table] = at.Retires
	if !in.Retired.IsZero() {
		s.due[in.Table] = at.Drops
	}
}

func (s *simulation) remove(t grid.Table) {
	i, last := s.at[t], len(s.tables)-1
	s.tables[i] = s.tables[last]
	s.at[s.tables[i].Table] = i
	s.tables = s.tables[:last]
	s.stored = s.stored.plus(s.load[t].scaled(-1))
	delete(s.at, t)
	delete(s.due, t)
	delete(s.load, t)
	delete(s.arrivals, t)
}

// rotate runs the rotator once.
func (s *simulation) rotate(now time.Time) {
	m := s.month(now)
	plan := s.Policy.Plan(now, s.open(now))
	for i := range plan.Actions {
		s.apply(m, &plan.Actions[i], now)
	}
	n := len(s.tables) + s.Others
	m.Tables, m.Stored = len(s.tables), s.stored
	m.Most = max(m.Most, len(s.tables))
	s.forecast.Most = max(s.forecast.Most, len(s.tables))
	if s.Quota > 0 && n > s.Quota && s.forecast.QuotaMet.IsZero() {
		s.forecast.QuotaMet = now
	}
}

// open returns the tables on which a plan can act. The first run sees all tables. Later runs see a table from
// before the previous arrival month only when it is due.
func (s *simulation) open(now time.Time) []store.Info {
	if now.Equal(s.Now) {
		return slices.Clone(s.tables)
	}
	oldest := grid.MonthOf(now) - 1 // the oldest arrival month whose tables may be unsealed
	open := s.opened[:0]
	for i := range s.tables {
		due := s.due[s.tables[i].Table]
		if s.tables[i].Month >= oldest || !due.IsZero() && !due.After(now) {
			open = append(open, s.tables[i])
		}
	}
	s.opened = open
	return open
}

// apply changes the tables as the store would.
func (s *simulation) apply(m *Month, a *rotator.Action, now time.Time) {
	if a.Kind == rotator.Create {
		m.Created++
		if i, exists := s.at[a.Table]; exists { // its creation was interrupted
			s.tables[i].Status = store.Active
			return
		}
		s.insert(&store.Info{Table: a.Table, Status: store.Active, Owned: true, Tier: a.Tier, Created: now})
		return
	}
	if a.Kind == rotator.Drop {
		m.Dropped++
		s.remove(a.Table)
		return
	}
	in := &s.tables[s.at[a.Table]]
	switch a.Kind {
	case rotator.Tune:
		m.Tuned++
		in.Tier = a.Tier
		return
	case rotator.Restore:
		m.Restored++
		in.Retired = time.Time{}
	default:
		m.Retired++
		in.Retired = now
	}
	s.schedule(in)
}

// next returns the time of the next run in which the plan can differ.
func (s *simulation) next(now time.Time) time.Time {
	month := grid.MonthOf(now)
	monday := now.Truncate(7 * day) // Truncate counts from Go's zero time, which is a Monday
	next := month.End()
	earlier := func(at time.Time) {
		if at.After(now) && at.Before(next) {
			next = at
		}
	}
	earlier(monday.Add(7 * day))
	earlier(monday.Add(7*day - s.Policy.Grid.Future%(7*day)))
	earlier(monday.Add(14*day - s.Policy.Grid.Future%(7*day)))
	earlier(month.Start().Add(s.Policy.Seal))
	earlier(month.End().Add(-day))
	earlier(s.Until)
	for t, at := range s.due {
		switch {
		case at.IsZero():
		case at.After(now):
			earlier(at)
		case !s.tables[s.at[t]].Retired.IsZero(): // overdue, because one rotation drops a limited number of tables
			earlier(now.Add(time.Hour))
		}
	}
	if hour := next.Truncate(time.Hour); hour.Before(next) && next.Before(s.Until) {
		return hour.Add(time.Hour)
	}
	return next
}

// arrive adds the readings that arrive between two runs. The readings of a class belong to one
// table, because a run takes place whenever a range of the grid begins.
func (s *simulation) arrive(from, to time.Time) {
	m, days := s.month(from), to.Sub(from).Hours()/24
	for class, daily := range s.Daily {
		l := daily.scaled(days)
		rg, ok := s.Policy.Grid.Locate(from, grid.MonthOf(from))
		if !ok {
			continue
		}
		t := grid.Table{Prefix: s.Policy.Retention.TablePrefix(class), Range: rg, Month: grid.MonthOf(from)}
		if _, exists := s.at[t]; !exists {
			continue // the class is not configured
		}
		s.arrivals[t] = append(s.arrivals[t], arrival{from, to, l})
		s.load[t], s.stored, m.Arrived = s.load[t].plus(l), s.stored.plus(l), m.Arrived.plus(l)
	}
}
