package tables

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/template"
)

// Scaler changes the capacity of provisioned tables by their use, between the limits of the
// template.
//
// Every process reports the units that it used. One process scales: it raises the capacity of a
// table without delay. It lowers the capacity at most once an hour, as far as the peak of the last
// hours permits. An idle cold table is checked once an hour. The capacity of cold tables also
// follows their largest use in the last month.
type Scaler struct {
	lifecycle *Lifecycle
	used      func() map[string]client.TableUse
	process   string // key of this process's report

	mu      sync.Mutex
	started time.Time
	taken   time.Time                         // end of the last measured interval
	hours   map[string]map[int64]client.Units // peaks of this process, by table and hour since 1970
	split   splitter

	month month // the use by which cold tables are scaled
}

func newScaler(l *Lifecycle, used func() map[string]client.TableUse) *Scaler {
	return &Scaler{lifecycle: l, used: used, process: newProcess(), hours: map[string]map[int64]client.Units{}}
}

// measureAtLeast is the shortest interval whose use is measured.
const measureAtLeast = time.Second

// Report writes the use of this process into the registry, if any tables are scaled, and returns
// whether any are.
func (s *Scaler) Report(ctx context.Context) (scales bool, err error) {
	settings, err := Template(ctx, s.lifecycle.items)
	if err != nil {
		return false, err
	}
	parts, ok := s.measure(s.lifecycle.now())
	if !settings.Scales() {
		return false, nil
	}
	if !ok {
		return true, nil
	}
	for n := range parts {
		it, err := parts[n].item(partKey(s.process, n))
		if err != nil {
			return true, err
		}
		if err := s.lifecycle.items.Put(ctx, it); err != nil {
			return true, err
		}
	}
	return true, nil
}

// measure returns the use of this process since the last call, and its peaks by hour, as the parts of a
// report. It returns false for the first call, and if the interval is too short to measure.
func (s *Scaler) measure(now time.Time) (parts []report, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken.IsZero() {
		s.started, s.taken = now, now
		s.used() // discards the use until now, because its interval is unknown
		return nil, false
	}
	took := now.Sub(s.taken)
	if took < measureAtLeast {
		return nil, false
	}
	s.taken = now
	r := report{Since: s.started.Unix(), At: now.Unix(), Tables: map[string]usage{}}
	hour := hourOf(now)
	for table, u := range s.used() {
		rate := client.Units{Read: perSecond(u.Read, took), Write: perSecond(u.Write, took)}
		if s.hours[table] == nil {
			s.hours[table] = map[int64]client.Units{}
		}
		s.hours[table][hour] = larger(s.hours[table][hour], rate)
		r.Tables[table] = usage{Now: rate, ReadsThrottled: u.ReadsThrottled, WritesThrottled: u.WritesThrottled}
	}
	for table, peaks := range s.hours {
		maps.DeleteFunc(peaks, func(h int64, _ client.Units) bool { return h < hour-scaleHours })
		if len(peaks) == 0 {
			delete(s.hours, table)
			continue
		}
		u := r.Tables[table]
		u.Hours = maps.Clone(peaks)
		r.Tables[table] = u
	}
	return s.split.divide(&r), true
}

// perSecond returns a rate, rounded up to thousandths, so that reports are short.
func perSecond(units float64, took time.Duration) float64 {
	return math.Ceil(units/took.Seconds()*1000) / 1000
}

// Scale changes the capacity of tables. It returns the changes that succeeded, even if others fail.
func (s *Scaler) Scale(ctx context.Context) ([]store.CapacityChange, error) {
	l := s.lifecycle
	settings, err := Template(ctx, l.items)
	if err != nil {
		return nil, err
	}
	records, err := l.records.readAll(ctx)
	if err != nil {
		return nil, err
	}
	needs, err := readDemand(ctx, l.items, l.now())
	if err != nil {
		return nil, err
	}
	days, isHourly, err := s.month.record(ctx, l.items, needs.hours, l.now())
	if err != nil {
		return nil, err
	}
	var changes scaleResults
	var g errgroup.Group
	g.SetLimit(scaleParallel) // a change of capacity may take minutes
	for _, name := range slices.Sorted(maps.Keys(records)) {
		r := records[name]
		t, ok := grid.Parse(name)
		if !ok || !r.isUsable() {
			continue
		}
		class := settings.Of(l.classOf(t.Prefix))
		least, most, scaled := class.Scaling(r.Tier)
		if !scaled {
			continue
		}
		need, lim := needs.of(name), capacities{least, most}
		if r.Tier == store.Cold {
			if !isHourly && !need.isInUse() {
				continue
			}
			lim.least = coldCapacity(days[name].peakOfCold(t, l.now()), lim)
		}
		g.Go(func() error {
			changes.add(s.scale(ctx, t, lim, need))
			return nil
		})
	}
	_ = g.Wait() // the errors are in changes
	return changes.all, errors.Join(changes.errs...)
}

// scaleParallel is the largest number of tables that are changed at the same time.
const scaleParallel = 16

// scaleResults collects changes and errors. It is safe for concurrent use.
type scaleResults struct {
	mu   sync.Mutex
	all  []store.CapacityChange
	errs []error
}

func (r *scaleResults) add(c *store.CapacityChange, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("scale capacity: %w", err))
	}
	if c != nil {
		r.all = append(r.all, *c)
	}
}

// scale changes the capacity of one table. It returns nil if nothing has changed.
func (s *Scaler) scale(ctx context.Context, t grid.Table, lim capacities, need need) (*store.CapacityChange, error) {
	l := s.lifecycle
	d, err := l.admin.Describe(ctx, t.Name())
	if client.IsNoTable(err) {
		return nil, nil // the table was dropped meanwhile
	}
	if err != nil {
		return nil, err
	}
	p := d.ProvisionedThroughput
	onDemand := d.BillingModeSummary != nil && d.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
	if onDemand || p == nil || d.TableStatus != types.TableStatusActive {
		return nil, nil // on-demand, or an earlier change is still in progress
	}
	is := template.Capacity{Read: aws.ToInt64(p.ReadCapacityUnits), Write: aws.ToInt64(p.WriteCapacityUnits)}
	mayLower := l.now().Sub(aws.ToTime(p.LastDecreaseDateTime)) >= decreaseEvery && l.now().Sub(aws.ToTime(p.LastIncreaseDateTime)) >= decreaseEvery
	want := template.Capacity{
		Read: nextUnits(is.Read, limits{lim.least.Read, lim.most.Read},
			use{need.now.Read, need.peak.Read, need.readsThrottled}, mayLower && need.isComplete),
		Write: nextUnits(is.Write, limits{lim.least.Write, lim.most.Write},
			use{need.now.Write, need.peak.Write, need.writesThrottled}, mayLower && need.isComplete),
	}
	if want == is {
		return nil, nil
	}
	in, err := l.capacityUpdate(t.Name(), p, want)
	if err != nil {
		return nil, err
	}
	if updated, err := l.admin.TryUpdate(ctx, in); err != nil || !updated {
		return nil, err // not updated: another change has begun, and the next call uses its capacity
	}
	return &store.CapacityChange{Table: t, ReadFrom: is.Read, ReadTo: want.Read, WriteFrom: is.Write, WriteTo: want.Write}, nil
}

// capacities are the smallest and the largest capacity of a table.
type capacities struct{ least, most template.Capacity }

// limits are the smallest and the largest number of units of one kind.
type limits struct{ least, most int64 }

// use is the number of used units of one kind per second.
type use struct {
	now         float64
	peak        float64 // the largest use in the last hours
	isThrottled bool    // whether requests were refused because the capacity was used up
}

// The use of a table should be the share targetUse of its capacity. If the use is at least the
// share fullUse, or requests are throttled, the true demand is unknown. Then the capacity is at
// least doubled, up to its limit. A decrease must be at least a fifth of the capacity.
const (
	targetUse = 0.7
	fullUse   = 0.9
	lowerFrom = 0.8
)

// nextUnits returns the units of one kind that a table should have, given that it has "is" units.
func nextUnits(is int64, lim limits, u use, mayLower bool) int64 {
	want := max(is, int64(math.Ceil(u.now/targetUse)))
	if u.isThrottled || u.now >= fullUse*float64(is) {
		want = max(want, 2*is)
	}
	if want == is && mayLower {
		low := max(int64(math.Ceil(max(u.peak, u.now)/targetUse)), lim.least)
		if float64(low) <= lowerFrom*float64(is) {
			want = low
		}
	}
	if bounded := min(max(want, lim.least), lim.most); bounded >= is || mayLower {
		return bounded
	}
	return is
}
