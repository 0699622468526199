package aggregate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
)

// Options configure an Engine. Only Readings is required.
type Options struct {
	Readings *query.Engine
	Rollups  *rollup.Reader // if nil, roll-ups are off
	// InTurn, if set, runs each read of a query from the store, with the context that the read must use. It can
	// limit the number of reads at a time.
	InTurn func(ctx context.Context, read func(context.Context) error) error
}

// Engine computes aggregates. It is safe for concurrent use.
type Engine struct{ opts Options }

// New returns an engine. If InTurn is nil, the number of reads at a time is not limited.
func New(o Options) *Engine {
	if o.InTurn == nil {
		o.InTurn = func(ctx context.Context, read func(context.Context) error) error { return read(ctx) }
	}
	return &Engine{opts: o}
}

// Answer is the result of a query.
type Answer struct {
	Rows     []Row          // ordered by device, then by bucket; with Top, the device with the highest value is first
	Coverage query.Coverage // coverage of all devices; empty if the source is roll-ups
	Values   int            // approximate number of values, at most MaxValues
	// Profile has the fields and kinds of values that were compared with Where.
	Profile filter.Profile
}

// Run computes the answer to a query. If the read of one device fails, Run fails. So an answer is
// complete, except for damaged rows that SkipDamaged omits, and tables that Coverage lists as missing.
func (e *Engine) Run(ctx context.Context, q Query) (*Answer, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	q.Devices = slices.Compact(slices.Sorted(slices.Values(q.Devices)))
	r := &run{Engine: e, q: &q}
	if q.Merge {
		r.merged = newSeries(&q, &r.budget)
	}
	for _, device := range q.Devices {
		if err := r.addDevice(ctx, device); err != nil {
			return nil, err
		}
	}
	a := &Answer{Coverage: r.coverage, Values: r.budget.values, Profile: r.profile}
	if q.Merge {
		var err error
		a.Rows, err = r.merged.finish("")
		a.Values = r.budget.values
		return a, err
	}
	for _, d := range r.devices {
		a.Rows = append(a.Rows, d.rows...)
	}
	return a, nil
}

type run struct {
	*Engine
	q        *Query
	budget   budget
	merged   *series // if not nil, collects the rows of all devices together
	devices  []ranked
	coverage query.Coverage
	profile  filter.Profile
}

// ranked has the rows of a device, and the value by which the device is ranked.
type ranked struct {
	rows   []Row
	rank   Value
	values int // number of values that the rows add to the budget
}

func (r *run) addDevice(ctx context.Context, device string) error {
	of := varve.Series{Tenant: r.q.Tenant, Stream: r.q.Stream, Device: device}
	s, before := r.merged, r.budget.values
	if s == nil {
		s = newSeries(r.q, &r.budget)
	}
	read := r.addReadings
	if r.q.Source == FromRollups {
		read = r.addRollups
	}
	if err := read(ctx, of, s); err != nil {
		if len(r.q.Devices) > 1 && varve.FailureOf(err) != varve.Invalid {
			return fmt.Errorf("device %s: %w", device, err)
		}
		return err
	}
	if r.merged != nil {
		s.current = nil
		return nil
	}
	rows, err := s.finish(device)
	if err != nil {
		return err
	}
	d := ranked{rows: rows, values: r.budget.values - before}
	if r.q.Top.Devices == 0 {
		r.devices = append(r.devices, d)
		return nil
	}
	if s.rank.count > 0 {
		d.rank = s.rank.value(r.q.Top.Function)
	}
	r.budget.collected -= len(s.rank.collected)
	r.insertRanked(d)
	return nil
}

// insertRanked adds a device to the ranking, unless it has no value to rank by. If the ranking
// has too many devices, the lowest one is dropped.
func (r *run) insertRanked(d ranked) {
	if d.rank.IsNull() {
		r.budget.values -= d.values
		return
	}
	highestFirst := func(a, b ranked) int { return -a.rank.sum().Compare(b.rank.sum()) }
	i, _ := slices.BinarySearchFunc(r.devices, d, func(a, b ranked) int {
		return cmp.Or(highestFirst(a, b), -1) // after equal values, because devices are added in the order of their names
	})
	r.devices = slices.Insert(r.devices, i, d)
	if n := len(r.devices); n > r.q.Top.Devices {
		r.budget.values -= r.devices[n-1].values
		r.devices = r.devices[:n-1]
	}
}

// addReadings adds the selected readings of a series. If the query reads archives, some of these readings
// may have expired.
func (r *run) addReadings(ctx context.Context, of varve.Series, s *series) error {
	rows, err := r.opts.Readings.Open(ctx, query.Query{
		Series: of, Window: r.q.Window, Fields: r.q.Fields, Where: r.q.Where, Consistent: r.q.Consistent, SkipDamaged: r.q.SkipDamaged,
		AsOf: r.q.AsOf, Archive: r.q.Archive,
	})
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; {
		err := r.opts.InTurn(ctx, func(ctx context.Context) error {
			part, err := rows.NextPart(ctx) // reads one page, even if none of its readings match Where
			if err != nil {
				return err
			}
			more = !part.IsEnd()
			for i := range part.Columns {
				if err := s.addColumns(&part.Columns[i]); err != nil {
					return err
				}
			}
			return s.addReadings(part.Readings)
		})
		if err != nil {
			return err
		}
	}
	r.cover(rows.Coverage())
	r.profile.Merge(*rows.Profile())
	return nil
}

func (s *series) addReadings(readings []varve.Reading) error {
	for i := range readings {
		r := &readings[i]
		if err := s.beginReading(r.Time.Unix(), r.Position()); err != nil {
			return err
		}
		for j := range r.Fields {
			if err := s.addValue(r.Fields[j].Name, r.Fields[j].Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxDamaged is the largest number of damaged rows that a coverage lists.
const maxDamaged = 1000

// cover adds the coverage of one device to the coverage of the answer.
func (r *run) cover(c query.Coverage) {
	all := &r.coverage
	for _, l := range []struct {
		to   *[]string
		from []string
	}{{&all.Read, c.Read}, {&all.Expired, c.Expired}, {&all.Archived, c.Archived}, {&all.Missing, c.Missing}, {&all.Failed, c.Failed}} {
		for _, name := range l.from {
			if i, found := slices.BinarySearch(*l.to, name); !found {
				*l.to = slices.Insert(*l.to, i, name)
			}
		}
	}
	room := max(0, maxDamaged-len(all.Damaged))
	all.Damaged = append(all.Damaged, c.Damaged[:min(room, len(c.Damaged))]...)
	all.MoreDamaged += len(c.Damaged) - min(room, len(c.Damaged))
	all.Conflicts += c.Conflicts
	all.Expiry = all.Expiry.Merge(c.Expiry)
	all.AsOf = all.AsOf.Merge(c.AsOf)
	if all.Listed.IsZero() || c.Listed.Before(all.Listed) {
		all.Listed = c.Listed
	}
}
