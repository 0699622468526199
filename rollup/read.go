package rollup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// MaxLimit is how many roll-ups a page can have, and DefaultLimit how many it
// has at most if nothing is said.
const (
	MaxLimit     = 10_000
	DefaultLimit = 1_000
)

// Query asks for the roll-ups of one series.
type Query struct {
	Series varve.Series
	Period Period
	// Window: every period that it overlaps, each as a whole.
	Window varve.Window
	Fields []string // only these; none: all
	Limit  int      // periods in a page at most; 0 is DefaultLimit
}

// Rollup is what the readings of one period add up to.
type Rollup struct {
	Start time.Time
	Partial
}

// Page is a run of roll-ups, in their order. Periods without readings are left
// out.
type Page struct {
	Rollups []Rollup
	// Next is where to go on: the beginning of the next page's window. It is zero
	// at the end. A page may be empty and not the last.
	Next time.Time
}

// Reader reads roll-ups.
type Reader struct{ records }

// NewReader returns a reader.
func NewReader(items store.Items, raw Raw, resent Resent) *Reader {
	return &Reader{records{items: items, raw: raw, resent: resent}}
}

func (q *Query) validate() error {
	if v := q.Series.Validate(); v.Outcome == varve.Rejected {
		param := "device"
		if v.Code == varve.CodeStreamInvalid {
			param = "stream"
		}
		return varve.InvalidParam(param, "%s", v.Message)
	}
	if q.Period != Hourly && q.Period != Daily {
		return varve.InvalidParam("period", "is missing: use hourly or daily")
	}
	if err := q.Window.Validate(); err != nil {
		return varve.InvalidParam("to", "%s", err)
	}
	if q.Limit < 0 || q.Limit > MaxLimit {
		return varve.InvalidParam("limit", "%d is not from 1 to %d", q.Limit, MaxLimit)
	}
	return nil
}

// span returns the hours of the periods that the window overlaps.
func (q *Query) span() span {
	all := varve.AllTime()
	from, to := q.Window.From, q.Window.To
	if from.Before(all.From) {
		from = all.From
	}
	if to.After(all.To) {
		to = all.To
	}
	if !from.Before(to) {
		return span{}
	}
	n := q.Period.hours()
	last := hourOf(to.Add(-1).Unix())
	return span{hourOf(from.Unix()) / n * n, (last/n + 1) * n}
}

// Read returns the next page: exactly what a recount of the distinct readings
// would give that are acknowledged by now.
func (r *Reader) Read(ctx context.Context, q Query) (Page, error) {
	if err := q.validate(); err != nil {
		return Page{}, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	h := q.span()
	for h.from < h.to {
		a := answer{Reader: r, q: &q, only: wantedOf(q.Fields), n: q.Period.hours(), part: h}
		if p, err := a.page(ctx); !errors.Is(err, errMoved) {
			return p, err
		}
	}
	return Page{}, nil
}

// errMoved: while hours were counted, marks came that change what counts where.
var errMoved = errors.New("marks have come meanwhile")

// answer is a page in the making.
type answer struct {
	*Reader
	q     *Query
	only  wanted
	n     int64 // hours in a period
	part  span  // the hours that the page is about; it gets shorter
	marks []mark
	dirty map[slot]bool
	rest  rest // of hours, or of days
	// partials are those of all hours that are dirty, at rest or not.
	partials rest
	total    map[int64]*tally // by period
}

// page reads marks first, and then partials: what is not dirty is at rest. The
// worker does it the other way round.
func (a *answer) page(ctx context.Context) (page Page, err error) {
	end := a.part.to
	if a.marks, err = a.Reader.marks(ctx, a.q.Series, a.part); err != nil {
		return page, err
	}
	if err := a.atRest(ctx); err != nil {
		return page, err
	}
	a.cut()
	a.total = map[int64]*tally{}
	if err := a.addRest(ctx); err != nil {
		return page, err
	}
	if err := a.recount(ctx); err != nil {
		return page, err
	}
	for _, n := range slices.Sorted(maps.Keys(a.total)) {
		page.Rollups = append(page.Rollups, Rollup{Start: a.q.Period.start(n), Partial: *a.total[n].result()})
	}
	if a.part.to < end {
		page.Next = Hourly.start(a.part.to)
	}
	return page, nil
}

var errEnough = errors.New("the page is full")

// atRest reads the partials at rest of one page at most.
func (a *answer) atRest(ctx context.Context) error {
	from, to := hourFrom(a.part.from), hourFrom(a.part.to)
	if a.q.Period == Daily {
		from, to = dayFrom(a.part.from/a.n), dayFrom(a.part.to/a.n)
	}
	a.rest = rest{}
	last, periods := int64(-1), 0
	q := store.ItemQuery{PK: pkOf(a.q.Series), From: from, To: to, Consistent: true}
	err := a.each(ctx, q, func(it *store.Item) error {
		at, part, err := parseKey(it.SK)
		if err != nil {
			return err
		}
		if at.hour != last && part == 0 {
			if last, periods = at.hour, periods+1; periods > a.q.Limit {
				a.part.to = at.hour * a.n
				return errEnough
			}
		}
		return a.rest.take(it, at, part, a.only)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("roll-ups of %s: %w", a.q.Series, err)
	}
	return nil
}

// cut cuts the answer short where it has more periods than a page.
func (a *answer) cut() {
	a.dirty = slotsOf(a.marks, a.part)
	periods := map[int64]bool{}
	for at := range a.dirty {
		periods[at.hour/a.n] = true
	}
	for at := range a.rest {
		periods[at.hour] = true
	}
	if len(periods) <= a.q.Limit {
		return
	}
	a.part.to = slices.Sorted(maps.Keys(periods))[a.q.Limit] * a.n
	maps.DeleteFunc(a.dirty, func(at slot, _ bool) bool { return at.hour >= a.part.to })
	maps.DeleteFunc(a.rest, func(at slot, _ *Partial) bool { return at.hour*a.n >= a.part.to })
}

// add adds a partial to its period, if there is anything in it.
func (a *answer) add(period int64, p *Partial) error {
	if err := p.whole(); err != nil {
		return fmt.Errorf("%s roll-up of %s of %s: %w", a.q.Period, a.q.Period.start(period).Format(time.RFC3339), a.q.Series, err)
	}
	switch t := a.total[period]; {
	case p.Readings == 0:
	case t == nil:
		a.total[period] = &tally{sum: *p}
	default:
		t.merge(p)
	}
	return nil
}

// addBut adds partials but for some, of which as many as said make up a period.
func (a *answer) addBut(partials map[slot]*Partial, n int64, but func(slot) bool) error {
	for at, p := range partials {
		if but(at) {
			continue
		}
		if err := a.add(at.hour/n, p); err != nil {
			return err
		}
	}
	return nil
}

// addRest adds up what is at rest and not dirty: of days with dirty hours, the
// other hours.
func (a *answer) addRest(ctx context.Context) error {
	isDirty := func(at slot) bool { return a.dirty[at] }
	if a.q.Period == Hourly {
		a.partials = a.rest
		return a.addBut(a.rest, 1, isDirty)
	}
	a.partials = rest{}
	hours := map[slot]bool{} // of days that are dirty
	for at := range a.dirty {
		for h := range a.n {
			hours[slot{hour: at.hour/a.n*a.n + h}] = true
		}
	}
	err := a.addBut(a.rest, 1, func(at slot) bool { return hours[slot{hour: at.hour * a.n}] })
	if err != nil {
		return err
	}
	for _, h := range spans(hours) {
		there, err := a.hours(ctx, a.q.Series, h, a.only)
		if err != nil {
			return fmt.Errorf("roll-ups of %s: %w", a.q.Series, err)
		}
		if err := a.addBut(there, a.n, isDirty); err != nil {
			return err
		}
		maps.Copy(a.partials, there)
	}
	return nil
}

// recount adds what is dirty, counted from the readings.
func (a *answer) recount(ctx context.Context) error {
	if len(a.dirty) == 0 {
		return nil
	}
	c := newRecount(a.resent, tally{only: a.only}, a.dirty, a.dirty, a.partials)
	counted, err := a.count(ctx, a.q.Series, c)
	if err != nil {
		return err
	}
	if err := a.addBut(counted, a.n, func(slot) bool { return false }); err != nil {
		return err
	}
	return a.unmoved(ctx)
}

// unmoved makes sure that no reading which was counted in one partial has been
// counted in another, too, because a copy of it that arrived earlier came in
// between. Such a copy has the marks of both before it is there.
func (a *answer) unmoved(ctx context.Context) error {
	hours := map[int64]bool{}
	for at := range a.dirty {
		hours[at.hour] = true
	}
	now, err := a.Reader.marks(ctx, a.q.Series, a.part)
	if err != nil {
		return err
	}
	for at := range slotsOf(now, a.part) {
		if hours[at.hour] && !a.dirty[at] {
			return errMoved
		}
	}
	return nil
}
