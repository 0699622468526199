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
	// leaseTTL is how long a run's lease lasts without a check.
	leaseTTL = 5 * time.Minute
	// pageTime bounds the work between two checks: less than what is left of the
	// lease after one.
	pageTime = 2 * time.Minute
	// page is how many marks are taken between two checks, and perRun about how
	// many in a run.
	page   = 500
	perRun = 20_000
)

// WorkerOptions are what a worker works with. Items, Raw, Now and Holder are
// required.
type WorkerOptions struct {
	Items  store.Items
	Raw    Raw
	Now    func() time.Time
	Holder string // names this process in the lease, uniquely
	Resent Resent
	// Parallel is how many days of devices are counted at a time. 0 is 1.
	Parallel int
}

// Worker turns marks that nobody relies on any more into partials. In the whole
// fleet one works at a time; it may die at any step.
type Worker struct {
	records
	now      func() time.Time
	lease    lease.Manager
	parallel int
}

// NewWorker returns a worker.
func NewWorker(o WorkerOptions) *Worker {
	return &Worker{
		records: records{items: o.Items, raw: o.Raw, resent: o.Resent}, now: o.Now, parallel: max(1, o.Parallel),
		lease: lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: leaseTTL},
	}
}

// Run takes the marks that are due, or as many as a run takes, and returns how
// many it took. One that fails stays, and stops no other. It fails with
// lease.ErrHeld while another process works.
func (w *Worker) Run(ctx context.Context) (taken int, err error) {
	l, err := w.lease.Acquire(ctx, "rollups")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	due := w.now().Add(-settled).Unix()
	first := int(due/60) % shards // none comes last each time
	var errs []error
	for i := range shards {
		if taken >= perRun {
			break
		}
		n, err := w.shard(ctx, l, dirty((first+i)%shards), due)
		taken += n
		if errs = append(errs, err); errors.Is(err, lease.ErrLost) || ctx.Err() != nil {
			break
		}
	}
	return taken, errors.Join(errs...)
}

// shard takes the due marks of one partition of the index.
func (w *Worker) shard(ctx context.Context, l *lease.Lease, pk string, due int64) (taken int, err error) {
	q := store.ItemQuery{Index: store.GSI1, PK: pk, To: fmt.Sprintf("%010d", due), Limit: page}
	var errs []error
	for {
		if err := l.Check(ctx); err != nil {
			return taken, errors.Join(append(errs, err)...)
		}
		found, err := w.items.Query(ctx, q)
		if err != nil {
			return taken, errors.Join(append(errs, fmt.Errorf("marks that are due: %w", err))...)
		}
		n, err := w.take(ctx, found.Items, due)
		taken, errs = taken+n, append(errs, err)
		if !found.More || taken >= perRun || ctx.Err() != nil {
			return taken, errors.Join(errs...)
		}
		q.After = &found.Items[len(found.Items)-1]
	}
}

// group is the marks of a series, a day, and a day of arrival.
type group struct {
	series       varve.Series
	day, arrival int64
}

// mayRepeat reports whether tables may be gone of readings that are resent in the
// group. Until its third day ends, those exist that had readings alive when it
// began, and what happens on that day or later had not expired then.
func (g group) mayRepeat(now time.Time) bool {
	return g.arrival > g.day || now.After(Daily.start(g.arrival).Add(CountedFor-24*time.Hour))
}

func groupsOf(items []store.Item) (groups []group, err error) {
	for i := range items {
		s, m, err := parseMark(items[i].Key)
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

func (w *Worker) take(ctx context.Context, items []store.Item, due int64) (taken int, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	groups, err := groupsOf(items)
	if err != nil {
		return 0, err
	}
	counts, errs := make([]int, len(groups)), make([]error, len(groups))
	var g errgroup.Group
	g.SetLimit(w.parallel)
	for i := range groups {
		g.Go(func() error {
			counts[i], errs[i] = w.finish(ctx, groups[i], due)
			return nil
		})
	}
	err = g.Wait()
	for _, n := range counts {
		taken += n
	}
	return taken, errors.Join(append(errs, err)...)
}

// finish counts the hours of a group's due marks anew, writes their partials,
// and the day's if no other mark of the group is left; and then removes the
// marks. Until that is done, readers count the hours themselves.
func (w *Worker) finish(ctx context.Context, g group, due int64) (int, error) {
	day := span{g.day * dayHours, (g.day + 1) * dayHours}
	all, err := w.marks(ctx, g.series, day)
	if err != nil {
		return 0, err
	}
	// The index may be behind: what is no longer there has been taken, and
	// what it was counted from may be gone.
	whole := true // all hours of the group are counted now
	var old []mark
	for _, m := range all {
		switch {
		case m.arrival != g.arrival:
		case m.until < due:
			old = append(old, m)
		default:
			whole = false
		}
	}
	if len(old) == 0 {
		return 0, nil
	}
	partials := rest{}
	if whole || g.mayRepeat(w.now()) {
		if partials, err = w.hours(ctx, g.series, day, nil); err != nil {
			return 0, fmt.Errorf("roll-ups of %s: %w", g.series, err)
		}
	}
	c := newRecount(w.resent, tally{kept: &sketch{}}, slotsOf(old, day), slotsOf(all, day), partials)
	counted, err := w.count(ctx, g.series, c)
	if err != nil {
		return 0, err
	}
	if !whole {
		partials = nil
	}
	if err := w.write(ctx, g, counted, partials); err != nil {
		return 0, fmt.Errorf("roll-ups of %s: %w", g.series, err)
	}
	keys := make([]store.Key, len(old))
	for i, m := range old {
		keys[i] = m.key(g.series)
	}
	if err := w.items.DeleteAll(ctx, keys); err != nil {
		return 0, fmt.Errorf("remove the marks of %s: %w", g.series, err)
	}
	return len(old), nil
}

// write writes what was counted of a group. If all of its hours are counted now,
// so is the day, with the day's partials that are at rest; else these are nil.
//
// Hours of which there are only copies of readings that count elsewhere are
// written as well, empty: once what tells them from new readings is gone, nobody
// must take them for hours that were never counted. Hours of which there is
// nothing any more stay as they are: a table went when they were marked to be
// rebuilt, or nothing of them was ever stored.
func (w *Worker) write(ctx context.Context, g group, counted map[slot]*Partial, partials rest) error {
	maps.DeleteFunc(counted, func(_ slot, p *Partial) bool { return p.Readings == 0 && !p.again })
	var puts []store.Item
	for at, p := range counted {
		puts = append(puts, p.items(hourKey(g.series, at.hour, at.arrival), partBytes)...)
	}
	if partials != nil {
		sum, err := g.sum(counted, partials)
		if err != nil {
			return err
		}
		if sum.Readings > 0 || sum.again {
			puts = append(puts, sum.items(dayKey(g.series, g.day, g.arrival), partBytes)...)
		}
	}
	return w.items.PutAll(ctx, puts)
}

// sum adds up the hours of a group: those that were counted, and those at rest.
func (g group) sum(counted map[slot]*Partial, partials rest) (*Partial, error) {
	var sum tally
	for at, p := range partials {
		if at.arrival != g.arrival || counted[at] != nil {
			continue
		}
		if err := p.whole(); err != nil {
			return nil, fmt.Errorf("%s: %w", Hourly.start(at.hour).Format(time.RFC3339), err)
		}
		sum.merge(p)
	}
	for _, p := range counted {
		sum.merge(p)
	}
	return sum.result(), nil
}
