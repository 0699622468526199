package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// LatestQuery selects the latest reading of one series.
type LatestQuery struct {
	Series     varve.Series
	By         varve.By
	Fields     []string // if not empty, only these fields are returned
	Consistent bool
	Expired    bool // includes expired readings that are not dropped yet
	// AsOf is described in Query.
	AsOf time.Time
	// SkipDamaged is described in Query.
	SkipDamaged bool
}

// all returns a query for all readings from which Latest selects one.
func (q *LatestQuery) all() Query {
	return Query{Series: q.Series, Window: varve.AllTime(), Consistent: q.Consistent, Expired: q.Expired, AsOf: q.AsOf, SkipDamaged: q.SkipDamaged}
}

func (q *LatestQuery) validate() error {
	all := q.all()
	return all.Validate()
}

// LatestAnswer is the latest reading of one series, if Found is set.
type LatestAnswer struct {
	Series   varve.Series
	Reading  varve.Reading
	Found    bool
	Coverage Coverage
	Cost     store.Cost
}

// Latest returns the latest reading of a series.
//
// It reads the newest tables first, and stops when no other table can contain a later reading. A
// query by arrival then scans all readings if the found reading is not certain: see byArrival.
func (e *Engine) Latest(ctx context.Context, q LatestQuery) (LatestAnswer, error) {
	if err := q.validate(); err != nil {
		return LatestAnswer{}, err
	}
	k, err := e.knownStream(ctx, q.Series.Tenant, q.Series.Stream, q.Consistent)
	if err != nil {
		return LatestAnswer{}, err
	}
	return e.latest(ctx, q, &k)
}

// latest runs a valid query for a known stream.
func (e *Engine) latest(ctx context.Context, q LatestQuery, k *known) (LatestAnswer, error) {
	all := q.all()
	p, err := e.plan(ctx, &all, k)
	if err != nil {
		return LatestAnswer{}, err
	}
	l := latest{e: e, q: q, plan: p, answer: LatestAnswer{Series: q.Series}}
	c := &l.answer.Coverage
	c.Expired, c.Missing, c.Listed = p.expired, slices.Clone(p.lost), p.listed
	if err := l.find(ctx); err != nil {
		return l.answer, err
	}
	l.answer.Coverage.Expiry = p.expiry.reported(0, l.answer.Found)
	l.answer.Coverage.AsOf = p.asOf
	l.damage.addTo(&l.answer.Coverage)
	if l.answer.Found && len(q.Fields) > 0 {
		l.answer.Reading.Fields = slices.DeleteFunc(l.answer.Reading.Fields, func(f varve.Field) bool {
			return !slices.Contains(q.Fields, f.Name)
		})
	}
	return l.answer, nil
}

// LatestOf runs a query for several devices of a stream, and returns the answers in the order of
// the devices.
func (e *Engine) LatestOf(ctx context.Context, q LatestQuery, devices []string) ([]LatestAnswer, error) {
	for _, device := range devices {
		one := q
		one.Series.Device = device
		if err := one.validate(); err != nil {
			return nil, err
		}
	}
	k, err := e.knownStream(ctx, q.Series.Tenant, q.Series.Stream, q.Consistent)
	if err != nil {
		return nil, err
	}
	answers := make([]LatestAnswer, len(devices))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.opts.Parallel)
	for i, device := range devices {
		g.Go(func() (err error) {
			one := q
			one.Series.Device = device
			answers[i], err = e.latest(ctx, one, &k)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return answers, nil
}

// latest is the state of one search for a latest reading.
type latest struct {
	e      *Engine
	q      LatestQuery
	plan   plan
	answer LatestAnswer
	table  grid.Table // the table that contains the reading of the answer
	damage damage
}

func (l *latest) find(ctx context.Context) error {
	if l.q.By == varve.ByArrival {
		return l.byArrival(ctx)
	}
	l.plan.inOrder(varve.Descending)
	return l.search(ctx, func(t *planned) bool {
		return t.Window().To.After(l.answer.Reading.Time)
	})
}

// search reads tables in the order of the plan until none can contain a later reading than the
// found reading.
func (l *latest) search(ctx context.Context, canBeat func(*planned) bool) error {
	ahead := 1
	for tables := l.plan.tables; len(tables) > 0; {
		n := 0
		for n < len(tables) && n < ahead && !(l.answer.Found && !canBeat(&tables[n])) {
			n++
		}
		if n == 0 {
			return nil
		}
		if err := l.readTables(ctx, tables[:n]); err != nil {
			return err
		}
		tables = tables[n:]
		ahead = min(2*ahead, l.e.opts.Parallel)
	}
	return nil
}

// readTables reads several tables at the same time, and considers their latest readings as the answer.
func (l *latest) readTables(ctx context.Context, tables []planned) error {
	type reply struct {
		reading varve.Reading
		found   bool
		cost    store.Cost
		err     error
	}
	replies := make([]reply, len(tables))
	get := func(i int) {
		r := &replies[i]
		if !tables[i].asOf.IsZero() {
			r.reading, r.found, r.cost, r.err = l.scanTable(ctx, &tables[i])
			return
		}
		r.reading, r.found, r.cost, r.err = l.e.opts.Reader.Latest(ctx, store.Latest{
			Table: tables[i].Table, Series: l.q.Series, By: l.q.By, Cutoff: tables[i].cutoff, Consistent: l.q.Consistent, Layout: l.plan.layout,
			Damaged: l.damage.collect(l.q.SkipDamaged),
		})
	}
	if len(tables) == 1 {
		get(0)
	} else {
		var g errgroup.Group
		for i := range tables {
			g.Go(func() error {
				get(i)
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	for i := range replies {
		r := &replies[i]
		l.answer.Cost.Add(r.cost)
		if err := l.recordResult(tables[i].Name(), r.err); err != nil {
			return err
		}
		if r.found {
			l.consider(&r.reading, tables[i].Table)
		}
	}
	return nil
}

func (l *latest) recordResult(name string, err error) error {
	c := &l.answer.Coverage
	switch {
	case err == nil:
		if !slices.Contains(c.Read, name) {
			c.Read = append(c.Read, name)
		}
		return nil
	case errors.Is(err, store.ErrNoTable):
		c.Missing = append(c.Missing, name)
		return nil
	default:
		c.Failed = append(c.Failed, name)
		return fmt.Errorf("read %s: %w", name, err)
	}
}

// consider makes a reading the answer if it is later than the found reading.
//
// If a reading has copies, a query by event time uses the copy with the first arrival. A query by
// arrival uses the copy with the last arrival, until byArrival finds out whether an earlier one exists.
// Only the copy with the last arrival is certain to be later than the discarded readings.
func (l *latest) consider(r *varve.Reading, t grid.Table) {
	a := &l.answer
	first := l.q.By == varve.ByEvent && a.Found && r.Position() == a.Reading.Position() && r.Arrived.Before(a.Reading.Arrived)
	if !a.Found || first || l.q.By.Later(r, &a.Reading) {
		a.Reading, a.Found, l.table = *r, true, t
	}
}

// byArrival reads the tables of the newest arrival months first.
//
// If a reading was resent in another month, the table of that month has a copy. The arrival of the
// reading is the arrival of its first copy. So a found reading is certain only if no table of an
// earlier month has a copy or a higher version. A table of the same month may also have one, if the
// table belongs to a class or grid of an earlier configuration. If the found reading is not
// certain, byArrival scans all readings and merges their copies.
func (l *latest) byArrival(ctx context.Context) error {
	slices.SortStableFunc(l.plan.tables, func(a, b planned) int { return cmp.Compare(b.Month, a.Month) })
	err := l.search(ctx, func(t *planned) bool {
		return t.Month >= grid.MonthOf(l.answer.Reading.Arrived)
	})
	if err != nil || !l.answer.Found {
		return err
	}
	copied, err := l.arrivedBefore(ctx)
	if err != nil || !copied {
		return err
	}
	return l.scanAll(ctx)
}

// arrivedBefore reports whether another table contains a copy of the found reading that may have arrived
// earlier, or a higher version.
func (l *latest) arrivedBefore(ctx context.Context) (bool, error) {
	r := &l.answer.Reading
	month := grid.MonthOf(r.Arrived)
	// If the event time is at least MaxFuture after the start of the arrival month, no copy arrived in
	// an earlier month. The grid's policy at that time is unknown, but it allowed event times at most
	// MaxFuture after the arrival.
	ahead := r.Time.Sub(month.Start()) >= grid.MaxFuture
	at := r.Position()
	q := Query{Series: l.q.Series, Window: varve.Window{From: r.Time, To: r.Time.Add(1)}, Consistent: l.q.Consistent}
	for i := range l.plan.tables {
		t := &l.plan.tables[i]
		if t.Table == l.table || t.Month > month || t.Month < month && ahead || !t.Contains(r.Time) {
			continue
		}
		found, err := l.hasCopy(ctx, t, q, at)
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// hasCopy reports whether a table has a live copy or a higher live version of the reading at a
// position.
func (l *latest) hasCopy(ctx context.Context, t *planned, q Query, at varve.Position) (bool, error) {
	r := q.rangeOf(t.Table, l.plan.layout, nil, 0)
	r.Damaged = l.damage.collect(l.q.SkipDamaged)
	for {
		page, err := l.e.opts.Reader.Read(ctx, r, nil)
		l.answer.Cost.Add(page.Cost)
		if err != nil {
			return false, l.recordResult(t.Name(), err)
		}
		for i := range page.Readings {
			if c := &page.Readings[i]; isSuperseded(at, c.Position()) && t.counts(c) {
				return true, l.recordResult(t.Name(), nil)
			}
		}
		if !page.More {
			return false, l.recordResult(t.Name(), nil)
		}
		last := page.Readings[len(page.Readings)-1].Position()
		r.After = &last
	}
}

func (l *latest) scanAll(ctx context.Context) error {
	rows, err := l.e.Open(ctx, l.q.all())
	if err != nil {
		return err
	}
	defer rows.Close()
	defer func() {
		l.answer.Coverage = rows.Coverage()
		l.answer.Cost.Add(rows.Cost())
	}()
	l.answer.Found = false
	for {
		readings, err := rows.Next(ctx)
		if err != nil {
			return err
		}
		if len(readings) == 0 {
			return nil
		}
		for i := range readings {
			if r := &readings[i]; !l.answer.Found || varve.ByArrival.Later(r, &l.answer.Reading) {
				l.answer.Reading, l.answer.Found = r.Clone(), true
			}
		}
	}
}
