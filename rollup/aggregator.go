package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

const (
	// leaseTTL is the duration of a run's lease from each extension on.
	leaseTTL = 5 * time.Minute
	// pageTimeout limits the time between two checks of the lease. It is shorter than the time
	// for which the lease is valid after a check.
	pageTimeout = 2 * time.Minute
	// pageMarkers is the number of markers between two checks of the lease.
	pageMarkers = 500
	// runMarkers is the approximate number of markers after which a run ends.
	runMarkers = 20_000
)

// AggregatorOptions configure an aggregator. Items, Source, Now and Holder are required.
type AggregatorOptions struct {
	Items  store.Items
	Source Source
	Now    func() time.Time
	Holder string // name of this process in the lease
	Resent Resent
	// Parallel is the number of groups of markers that are processed at the same time. A group has
	// the markers of one series, day and arrival day. 0 means 1.
	Parallel int
}

// Aggregator recounts the hours of due markers and stores their partials. Only one process of the
// cluster aggregates at a time. If a run stops at any point, the next run completes its work.
type Aggregator struct {
	records
	now      func() time.Time
	lease    lease.Manager
	parallel int
}

// NewAggregator returns an aggregator.
func NewAggregator(o AggregatorOptions) *Aggregator {
	return &Aggregator{
		records: records{items: o.Items, source: o.Source, resent: o.Resent}, now: o.Now, parallel: max(1, o.Parallel),
		lease: lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: leaseTTL},
	}
}

// Run processes due markers, up to a limit, and returns the number of processed markers. If a group
// of markers fails, its markers remain, and Run continues with the other groups. Run fails with
// lease.ErrHeld while another process aggregates.
func (g *Aggregator) Run(ctx context.Context) (processed int, err error) {
	l, err := g.lease.Acquire(ctx, "rollups")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	due := g.now().Add(-markerGrace).Unix()
	first := int(due/60) % markerShards // the first shard changes every minute, so that no shard is always last
	var errs []error
	for i := range markerShards {
		if processed >= runMarkers {
			break
		}
		n, err := g.aggregateShard(ctx, l, markerPartition((first+i)%markerShards), due)
		processed += n
		if errs = append(errs, err); errors.Is(err, lease.ErrLost) || ctx.Err() != nil {
			break
		}
	}
	return processed, errors.Join(errs...)
}

// aggregateShard processes the due markers of one partition of the index.
func (g *Aggregator) aggregateShard(ctx context.Context, l *lease.Lease, pk string, due int64) (processed int, err error) {
	q := store.ItemQuery{Index: store.GSI1, PK: pk, To: fmt.Sprintf("%010d", due), Limit: pageMarkers}
	var errs []error
	for {
		if err := l.Check(ctx); err != nil {
			return processed, errors.Join(append(errs, err)...)
		}
		page, err := g.items.Query(ctx, q)
		if err != nil {
			return processed, errors.Join(append(errs, fmt.Errorf("due markers: %w", err))...)
		}
		n, err := g.aggregatePage(ctx, page.Items, due)
		processed, errs = processed+n, append(errs, err)
		if !page.More || processed >= runMarkers || ctx.Err() != nil {
			return processed, errors.Join(errs...)
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

// aggregatePage processes the groups of a page of markers, several groups at a time.
func (g *Aggregator) aggregatePage(ctx context.Context, items []store.Item, due int64) (processed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	groups, err := groupsOf(items)
	if err != nil {
		return 0, err
	}
	counts, errs := make([]int, len(groups)), make([]error, len(groups))
	var tasks errgroup.Group
	tasks.SetLimit(g.parallel)
	for i := range groups {
		tasks.Go(func() error {
			counts[i], errs[i] = g.aggregateGroup(ctx, groups[i], due)
			return nil
		})
	}
	err = tasks.Wait()
	for _, n := range counts {
		processed += n
	}
	return processed, errors.Join(append(errs, err)...)
}

// aggregateGroup recounts the hours of a group's due markers, stores their partials, and then
// deletes the markers. If no other marker of the group remains, it also stores the partial of the
// day. Until the markers are deleted, readers recount the hours themselves.
func (g *Aggregator) aggregateGroup(ctx context.Context, of group, due int64) (int, error) {
	day := daySpan(of.day)
	all, err := g.markers(ctx, of.series, day)
	if err != nil {
		return 0, err
	}
	// Process only the markers in the variable "all", because they still exist. The index that named the
	// group may be outdated and list deleted markers. The hours of deleted markers were recounted, and
	// their tables may have been dropped.
	whole := true // whether this call recounts all dirty hours of the group
	var processed []dirtyMarker
	for _, m := range all {
		switch {
		case m.arrival != of.arrival:
		case m.until < due:
			processed = append(processed, m)
		default:
			whole = false
		}
	}
	if len(processed) == 0 {
		return 0, nil
	}
	stored := partialSet{}
	if whole || of.mayHaveCopies(g.now()) {
		if stored, err = g.hourPartials(ctx, of.series, day, nil); err != nil {
			return 0, fmt.Errorf("roll-ups of %s: %w", of.series, err)
		}
	}
	c := newRecount(g.resent, tally{sketch: &sketch{}}, dirtySlots(processed, day), dirtySlots(all, day), stored)
	recounted, err := g.recountSlots(ctx, of.series, c)
	if err != nil {
		return 0, err
	}
	if !whole {
		stored = nil
	}
	if err := g.writePartials(ctx, of, recounted, stored); err != nil {
		return 0, fmt.Errorf("roll-ups of %s: %w", of.series, err)
	}
	keys := make([]store.Key, len(processed))
	for i, m := range processed {
		keys[i] = m.key(of.series)
	}
	if err := g.items.DeleteAll(ctx, keys); err != nil {
		return 0, fmt.Errorf("delete dirty markers of %s: %w", of.series, err)
	}
	return len(processed), nil
}

// writePartials writes the recounted partials of a group. If the argument "stored" is not nil, it
// contains the stored partials of the day's hours, and writePartials also writes the partial of the day.
//
// If a slot has only copies of readings that count in other slots, it is stored as an empty
// partial. Without that partial, the copies would look like uncounted readings once the tables of
// the first copies are dropped. A slot without readings and copies is left as it is. Its table was
// dropped after a rebuild marked the slot as dirty, or none of its readings was ever stored.
func (g *Aggregator) writePartials(ctx context.Context, of group, recounted map[slot]*Partial, stored partialSet) error {
	maps.DeleteFunc(recounted, func(_ slot, p *Partial) bool { return p.isEmpty() })
	var puts []store.Item
	for at, p := range recounted {
		puts = append(puts, p.items(hourKey(of.series, at.hour, at.arrival), maxPartBytes)...)
	}
	if stored != nil {
		sum, err := of.sum(recounted, stored)
		if err != nil {
			return err
		}
		if !sum.isEmpty() {
			puts = append(puts, sum.items(dayKey(of.series, of.day, of.arrival), maxPartBytes)...)
		}
	}
	return g.items.PutAll(ctx, puts)
}

// group identifies the markers of one series, one day and one arrival day.
type group struct {
	series       varve.Series
	day, arrival int64
}

func groupsOf(items []store.Item) (groups []group, err error) {
	for i := range items {
		s, m, err := parseMarker(items[i].Key)
		if err != nil {
			return nil, err
		}
		groups = append(groups, group{s, m.day(), m.arrival})
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(a.series.Compare(b.series), cmp.Compare(a.day, b.day), cmp.Compare(a.arrival, b.arrival))
	})
	return slices.Compact(groups), nil
}

// mayHaveCopies reports whether the group may include copies of readings whose tables are dropped.
// The readings of a dropped table expired at least RecountWindow ago. If the group's day is not
// before its arrival day, its readings cannot have expired before the arrival day. Such a group has
// no copies of dropped readings until two days after the arrival day began.
func (g group) mayHaveCopies(now time.Time) bool {
	return g.arrival > g.day || now.After(Daily.start(g.arrival).Add(RecountWindow-24*time.Hour))
}

// sum adds up the partials of a group's day: the recounted hours, and the stored partials of all
// other hours.
func (g group) sum(recounted map[slot]*Partial, stored partialSet) (*Partial, error) {
	var sum tally
	for at, p := range stored {
		if at.arrival != g.arrival || recounted[at] != nil {
			continue
		}
		if err := p.checkComplete(); err != nil {
			return nil, fmt.Errorf("%s: %w", Hourly.start(at.hour).Format(time.RFC3339), err)
		}
		sum.merge(p)
	}
	for _, p := range recounted {
		sum.merge(p)
	}
	return sum.result(), nil
}
