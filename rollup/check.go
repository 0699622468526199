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

// Difference is a difference between a stored partial and a recount of its readings. The partial of
// a day is compared with the partials of its hours instead.
type Difference struct {
	Series  varve.Series
	Period  Period
	Start   time.Time // start of the hour or day
	Arrived time.Time // arrival day
	Field   string    // empty if the difference does not belong to one field
	Problem string
}

func (d *Difference) String() string {
	field := ""
	if d.Field != "" {
		field = "field " + d.Field + ": "
	}
	return fmt.Sprintf("%s roll-up of %s, arrived %s: %s%s", d.Period, d.Start.Format(time.RFC3339), d.Arrived.Format(time.DateOnly), field, d.Problem)
}

// Outcome is the result of checking one hour.
type Outcome uint8

// The outcomes of Check. Check returns zero only with an error.
const (
	Compared    Outcome = iota + 1 // the partials were compared with the readings
	Dirty                          // skipped: the hour is dirty
	ReadingGone                    // skipped: readings of the hour have expired or were dropped
	Unreadable                     // skipped: readings are damaged
)

// Check compares the partials of an hour with its stored readings. It also compares the partials
// of the day with the partials of its hours. It reports differences only if the parameter "alive" is
// true, which means that no reading of the hour can have expired.
func (r *Reader) Check(ctx context.Context, s varve.Series, at time.Time, alive bool, report func(Difference)) (Outcome, error) {
	outcome, err := r.check(ctx, s, at, alive, report)
	switch {
	case errors.Is(err, store.ErrNoTable):
		return ReadingGone, nil
	case errors.Is(err, store.ErrDamaged):
		return Unreadable, nil
	}
	return outcome, err
}

func (r *Reader) check(ctx context.Context, s varve.Series, at time.Time, alive bool, report func(Difference)) (Outcome, error) {
	hour := hourOf(at.Unix())
	c := checker{Reader: r, series: s, hour: hour, day: hour / dayHours}
	if dirty, err := c.dirtyHours(ctx); err != nil || dirty[hour] {
		return Dirty, err
	}
	if err := c.compareHour(ctx); err != nil {
		return 0, err
	}
	if err := c.compareDay(ctx); err != nil {
		return 0, err
	}
	dirty, err := c.dirtyHours(ctx)
	if err != nil || dirty[hour] {
		return Dirty, err
	}
	if len(dirty) > 0 { // the aggregator has not added up the day yet
		c.differences = slices.DeleteFunc(c.differences, func(d Difference) bool { return d.Period == Daily })
	}
	if len(c.differences) > 0 && !alive {
		return ReadingGone, nil
	}
	for _, d := range c.differences {
		report(d)
	}
	return Compared, nil
}

type checker struct {
	*Reader
	series      varve.Series
	hour, day   int64
	differences []Difference
}

func (c *checker) addDifference(p Period, n, arrival int64, field, format string, args ...any) {
	c.differences = append(c.differences, Difference{c.series, p, p.start(n), Daily.start(arrival), field, fmt.Sprintf(format, args...)})
}

func (c *checker) dirtyHours(ctx context.Context) (map[int64]bool, error) {
	markers, err := c.markers(ctx, c.series, daySpan(c.day))
	hours := map[int64]bool{}
	for at := range dirtySlots(markers, daySpan(c.day)) {
		hours[at.hour] = true
	}
	return hours, err
}

// partials reads the stored partials of a range of keys. A malformed or incomplete partial is
// recorded as a difference.
func (c *checker) partials(ctx context.Context, p Period, from, to string) (partialSet, error) {
	set := partialSet{}
	q := store.ItemQuery{PK: partitionOf(c.series), From: from, To: to, Consistent: true}
	err := c.scanItems(ctx, q, func(it *store.Item) error {
		at, part, err := parsePartialKey(it.SK)
		if err == nil {
			err = set.addItem(it, at, part, nil)
		}
		if err != nil {
			c.addDifference(p, at.hour, at.arrival, "", "%s", err)
		}
		return nil
	})
	for at, is := range set {
		if is == nil {
			delete(set, at)
		} else if err := is.checkComplete(); err != nil {
			c.addDifference(p, at.hour, at.arrival, "", "%s", err)
		}
	}
	return set, err
}

func (c *checker) compareHour(ctx context.Context) error {
	partials, err := c.partials(ctx, Hourly, hourKeyFrom(c.hour), hourKeyFrom(c.hour+1))
	if err != nil {
		return err
	}
	now := newRecount(c.resent, tally{list: &readingList{}}, nil, nil, partials)
	if err := c.source.ScanCopies(ctx, c.series, span{c.hour, c.hour + 1}.window(), now); err != nil {
		return err
	}
	if err := now.finish(ctx); err != nil {
		return err
	}
	for at, p := range partials {
		a := now.aggregates[at]
		if a == nil {
			a = emptyAggregate()
		}
		switch n := int64(len(*a.total.list)); {
		case a.compareTo(p) == upToDate:
			c.compareFields(Hourly, at, p, a.total.result())
		case p.identity().readings == n:
			c.addDifference(Hourly, at.hour, at.arrival, "", "is of other readings than are stored")
		default:
			c.addDifference(Hourly, at.hour, at.arrival, "", "readings is %d, and %d are stored", p.identity().readings, n)
		}
	}
	for at, a := range now.aggregates {
		if n := len(*a.total.list); partials[at] == nil && n > 0 {
			c.addDifference(Hourly, at.hour, at.arrival, "", "is missing, and %d readings are stored: varve rollups rebuild counts them", n)
		}
	}
	return nil
}

func (c *checker) compareDay(ctx context.Context) error {
	hours, err := c.partials(ctx, Hourly, hourKeyFrom(daySpan(c.day).from), hourKeyFrom(daySpan(c.day).to))
	if err != nil {
		return err
	}
	days, err := c.partials(ctx, Daily, dayKeyFrom(c.day), dayKeyFrom(c.day+1))
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
			c.addDifference(Daily, c.day, arrival, "", "is missing, and its hours have %d readings", sum.Readings)
		case is == nil:
		case is.Readings != sum.Readings:
			c.addDifference(Daily, c.day, arrival, "", "readings is %d, and its hours have %d", is.Readings, sum.Readings)
		case is.digest != sum.digest && is.Readings > 0:
			c.addDifference(Daily, c.day, arrival, "", "is of other readings than its hours")
		default:
			c.compareFields(Daily, slot{c.day, arrival}, is, sum)
		}
	}
	return nil
}

func (c *checker) compareFields(p Period, at slot, is, want *Partial) {
	for i := range want.Fields {
		w := &want.Fields[i]
		f := is.Field(w.Name)
		if f == nil {
			c.addDifference(p, at.hour, at.arrival, w.Name, "is missing, and the readings have %d numbers", w.Count)
			continue
		}
		for _, x := range []struct{ name, is, want string }{
			{"count", fmt.Sprint(f.Count), fmt.Sprint(w.Count)}, {"sum", f.Sum.String(), w.Sum.String()},
			{"min", f.Min.Canonical().String(), w.Min.Canonical().String()}, {"max", f.Max.Canonical().String(), w.Max.Canonical().String()},
			{"first", f.First.text(), w.First.text()}, {"last", f.Last.text(), w.Last.text()},
		} {
			if x.is != x.want {
				c.addDifference(p, at.hour, at.arrival, w.Name, "%s is %s, and the readings make %s", x.name, x.is, x.want)
			}
		}
	}
	for i := range is.Fields {
		if want.Field(is.Fields[i].Name) == nil {
			c.addDifference(p, at.hour, at.arrival, is.Fields[i].Name, "is in no reading")
		}
	}
}

func (p *Point) text() string {
	return fmt.Sprintf("%s at %s (id %s)", p.Value, p.Time().Format(time.RFC3339Nano), p.At.ID)
}

// HourSample chooses random hours of series during a scan of readings. With the same seed and the
// same readings, it chooses the same hours.
type HourSample struct {
	rng   *rand.Rand
	limit int        // largest number of chosen hours
	seen  int        // number of hours that were offered so far, chosen or not
	last  seriesHour // hour of the reading that was added last
	list  []seriesHour
}

type seriesHour struct {
	series varve.Series
	hour   int64
}

// NewHourSample returns a sample. The argument "limit" is the maximum number of its hours.
func NewHourSample(limit int, seed uint64) *HourSample {
	return &HourSample{rng: rand.New(rand.NewPCG(seed, 0)), limit: limit}
}

// Add offers the hour of a reading to the sample. Consecutive readings of one hour are one offer.
func (s *HourSample) Add(series varve.Series, at time.Time) {
	p := seriesHour{series, hourOf(at.Unix())}
	if s.limit == 0 || s.seen > 0 && p == s.last {
		return
	}
	s.last = p
	s.seen++
	if len(s.list) < s.limit {
		s.list = append(s.list, p)
	} else if i := s.rng.IntN(s.seen); i < s.limit {
		s.list[i] = p
	}
}

// Outcomes maps each outcome of a check to the number of hours that have it.
type Outcomes map[Outcome]int

// Check checks the hours of the sample. For each hour, it passes the result of alive to
// [Reader.Check].
func (s *HourSample) Check(
	ctx context.Context, r *Reader, alive func(context.Context, varve.Series, time.Time) (bool, error), report func(Difference),
) (Outcomes, error) {
	done := Outcomes{}
	checked := map[seriesHour]bool{}
	for _, p := range s.list {
		if checked[p] {
			continue // an hour whose readings are in several tables may be sampled several times
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

// ScanHours calls fn with the start of each hour for which a series has a stored partial, in order.
// If an hour has several partials, fn is called for each.
func ScanHours(ctx context.Context, items store.Items, s varve.Series, fn func(time.Time)) error {
	r := records{items: items}
	all := allDays()
	q := store.ItemQuery{PK: partitionOf(s), From: hourKeyFrom(all.from * dayHours), To: hourKeyFrom(all.to * dayHours)}
	return r.scanItems(ctx, q, func(it *store.Item) error {
		at, part, err := parsePartialKey(it.SK)
		if err == nil && part == 0 {
			fn(Hourly.start(at.hour))
		}
		return err
	})
}
