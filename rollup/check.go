package rollup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Difference is a partial that differs from a recount of its readings.
type Difference struct {
	Series  varve.Series
	Period  Period
	Start   time.Time // of the hour or day
	Arrived time.Time // the day of arrival
	Field   string    // empty if the difference is in no field
	Problem string
}

func (d *Difference) String() string {
	field := ""
	if d.Field != "" {
		field = "field " + d.Field + ": "
	}
	return fmt.Sprintf("%s roll-up of %s, arrived %s: %s%s", d.Period, d.Start.Format(time.RFC3339), d.Arrived.Format(time.DateOnly), field, d.Problem)
}

// Outcome is the result of one check.
type Outcome uint8

// The outcomes.
const (
	Compared    Outcome = iota + 1 // with the readings
	YetToCount                     // skipped: the hour is dirty
	ReadingGone                    // skipped: readings have expired, or went with their table
	Unreadable                     // skipped: readings are damaged
)

// Check compares the partials of an hour with a recount of the stored readings, and
// those of its day with its hours. Alive reports that no reading of the hour can
// have expired: only then is a difference one.
func (r *Reader) Check(ctx context.Context, s varve.Series, at time.Time, alive bool, report func(Difference)) (Outcome, error) {
	hour := hourOf(at.Unix())
	c := checking{Reader: r, series: s, hour: hour, day: hour / dayHours}
	if dirty, err := c.dirty(ctx); err != nil || dirty[hour] {
		return YetToCount, err
	}
	err := c.compareHour(ctx)
	switch {
	case errors.Is(err, store.ErrNoTable):
		return ReadingGone, nil
	case errors.Is(err, store.ErrDamaged):
		return Unreadable, nil
	case err != nil:
		return 0, err
	}
	if err := c.compareDay(ctx); err != nil {
		return 0, err
	}
	dirty, err := c.dirty(ctx)
	if err != nil || dirty[hour] {
		return YetToCount, err
	}
	if len(dirty) > 0 { // the day has yet to be added up
		c.found = slices.DeleteFunc(c.found, func(d Difference) bool { return d.Period == Daily })
	}
	if c.gone = c.gone || len(c.found) > 0; c.gone && !alive {
		return ReadingGone, nil
	}
	for _, d := range c.found {
		report(d)
	}
	return Compared, nil
}

// checking compares the partials of one hour.
type checking struct {
	*Reader
	series    varve.Series
	hour, day int64
	found     []Difference
	gone      bool
}

func (c *checking) differs(p Period, n, arrival int64, field, format string, args ...any) {
	c.found = append(c.found, Difference{c.series, p, p.start(n), Daily.start(arrival), field, fmt.Sprintf(format, args...)})
}

func (c *checking) daySpan() span { return span{c.day * dayHours, (c.day + 1) * dayHours} }

// dirty returns the dirty hours of the day.
func (c *checking) dirty(ctx context.Context) (map[int64]bool, error) {
	marks, err := c.marks(ctx, c.series, c.daySpan())
	hours := map[int64]bool{}
	for at := range slotsOf(marks, c.daySpan()) {
		hours[at.hour] = true
	}
	return hours, err
}

// partials reads partials. One that cannot be parsed differs.
func (c *checking) partials(ctx context.Context, p Period, from, to string) (rest, error) {
	found := rest{}
	q := store.ItemQuery{PK: pkOf(c.series), From: from, To: to, Consistent: true}
	err := c.each(ctx, q, func(it *store.Item) error {
		at, part, err := parseKey(it.SK)
		if err == nil {
			err = found.take(it, at, part, nil)
		}
		if err != nil {
			c.differs(p, at.hour, at.arrival, "", "%s", err)
		}
		return nil
	})
	for at, is := range found {
		if is == nil {
			delete(found, at)
		} else if err := is.whole(); err != nil {
			c.differs(p, at.hour, at.arrival, "", "%s", err)
		}
	}
	return found, err
}

func (c *checking) compareHour(ctx context.Context) error {
	partials, err := c.partials(ctx, Hourly, hourFrom(c.hour), hourFrom(c.hour+1))
	if err != nil {
		return err
	}
	now := newRecount(c.resent, tally{found: &found{}}, nil, nil, partials)
	if err := c.raw.Each(ctx, c.series, span{c.hour, c.hour + 1}.window(), now.add); err != nil {
		return err
	}
	if err := now.finish(); err != nil {
		return err
	}
	for at, p := range partials {
		a := now.counts[at]
		if a == nil {
			a = &aggregate{total: &tally{found: &found{}}}
		}
		switch n := int64(len(a.total.found.list)); {
		case a.against(p) == same:
			c.compareFields(Hourly, at, p, a.total.result())
		case p.Readings == n:
			c.differs(Hourly, at.hour, at.arrival, "", "is of other readings than are stored")
		default:
			c.differs(Hourly, at.hour, at.arrival, "", "readings is %d, and %d are stored", p.Readings, n)
		}
	}
	for at, a := range now.counts {
		if n := len(a.total.found.list); partials[at] == nil && n > 0 {
			c.differs(Hourly, at.hour, at.arrival, "", "is missing, and %d readings are stored: varve rollups rebuild counts them", n)
		}
	}
	return nil
}

// compareDay compares the day's partials with its hours'.
func (c *checking) compareDay(ctx context.Context) error {
	hours, err := c.partials(ctx, Hourly, hourFrom(c.daySpan().from), hourFrom(c.daySpan().to))
	if err != nil {
		return err
	}
	days, err := c.partials(ctx, Daily, dayFrom(c.day), dayFrom(c.day+1))
	if err != nil {
		return err
	}
	sums := map[int64]*tally{}
	for at := range days {
		sums[at.arrival] = &tally{}
	}
	for at, p := range hours {
		if sums[at.arrival] == nil {
			sums[at.arrival] = &tally{}
		}
		sums[at.arrival].merge(p)
	}
	for arrival, t := range sums {
		sum, is := t.result(), days[slot{c.day, arrival}]
		switch {
		case is == nil && sum.Readings > 0:
			c.differs(Daily, c.day, arrival, "", "is missing, and its hours have %d readings", sum.Readings)
		case is == nil:
		case is.Readings != sum.Readings:
			c.differs(Daily, c.day, arrival, "", "readings is %d, and its hours have %d", is.Readings, sum.Readings)
		case is.digest != sum.digest:
			c.differs(Daily, c.day, arrival, "", "is of other readings than its hours")
		default:
			c.compareFields(Daily, slot{c.day, arrival}, is, sum)
		}
	}
	return nil
}

// compareFields compares what a partial says of fields with a recount.
func (c *checking) compareFields(p Period, at slot, is, want *Partial) {
	for i := range want.Fields {
		w := &want.Fields[i]
		f := is.Field(w.Name)
		if f == nil {
			c.differs(p, at.hour, at.arrival, w.Name, "is missing, and the readings have %d numbers", w.Count)
			continue
		}
		for _, x := range []struct{ name, is, want string }{
			{"count", fmt.Sprint(f.Count), fmt.Sprint(w.Count)}, {"sum", f.Sum.String(), w.Sum.String()},
			{"min", f.Min.Canonical().String(), w.Min.Canonical().String()}, {"max", f.Max.Canonical().String(), w.Max.Canonical().String()},
			{"first", f.First.text(), w.First.text()}, {"last", f.Last.text(), w.Last.text()},
		} {
			if x.is != x.want {
				c.differs(p, at.hour, at.arrival, w.Name, "%s is %s, and the readings make %s", x.name, x.is, x.want)
			}
		}
	}
	for i := range is.Fields {
		if want.Field(is.Fields[i].Name) == nil {
			c.differs(p, at.hour, at.arrival, is.Fields[i].Name, "is in no reading")
		}
	}
}

func (p *Point) text() string {
	return fmt.Sprintf("%s at %s (id %s)", p.Value, p.Time().Format(time.RFC3339Nano), p.At.ID)
}

// Sample is a random choice of hours of series, as they are read one after the
// other. The same seed chooses the same hours of the same data.
type Sample struct {
	rng  *rand.Rand
	most int
	seen int
	last place
	list []place
}

type place struct {
	series varve.Series
	hour   int64
}

// NewSample returns a sample of so many hours at most.
func NewSample(most int, seed uint64) *Sample {
	return &Sample{rng: rand.New(rand.NewPCG(seed, 0)), most: most}
}

// Add offers the hour of a reading. Those of one hour come one after the other.
func (s *Sample) Add(series varve.Series, at time.Time) {
	p := place{series, hourOf(at.Unix())}
	if s.most == 0 || s.seen > 0 && p == s.last {
		return
	}
	s.last = p
	s.seen++
	if len(s.list) < s.most {
		s.list = append(s.list, p)
	} else if i := s.rng.IntN(s.seen); i < s.most {
		s.list[i] = p
	}
}

// Sampled is how many hours of a sample had which outcome.
type Sampled map[Outcome]int

// Check checks the hours of the sample. Alive is as for [Reader.Check].
func (s *Sample) Check(
	ctx context.Context, r *Reader, alive func(context.Context, varve.Series, time.Time) (bool, error), report func(Difference),
) (Sampled, error) {
	done := Sampled{}
	checked := map[place]bool{}
	for _, p := range s.list {
		if checked[p] {
			continue // its readings lie in several tables
		}
		checked[p] = true
		at := Hourly.start(p.hour)
		is, err := alive(ctx, p.series, at)
		if err != nil {
			return done, err
		}
		outcome, err := r.Check(ctx, p.series, at, is, report)
		if err != nil {
			return done, err
		}
		done[outcome]++
	}
	return done, nil
}
