package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
)

// queryStorage reads the series for one query. It implements storage.Queryable and storage.Querier of
// Prometheus.
type queryStorage struct {
	*Engine
	memory
	ctx      context.Context // context of the reads that Select has begun
	cancel   context.CancelFunc
	tenant   string
	rollups  map[*labels.Matcher]bucketed // aggregates that come from roll-ups, by the matcher with which rewrite marks their selector
	read     atomic.Int64                 // number of samples that were read so far
	scanned  atomic.Int64                 // number of readings that were scanned so far
	selected []*selection
	isSingle bool // whether the query has exactly one selector

	hasSubquery bool
	lookedBack  time.Duration // look-back of the query
}

// Querier implements storage.Queryable. It ignores the times, because Select gets the times of each
// selector.
func (v *queryStorage) Querier(_, _ int64) (storage.Querier, error) { return v, nil }

// LabelValues implements storage.LabelQuerier. The engine does not use it.
func (v *queryStorage) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errNoLabels
}

// LabelNames implements storage.LabelQuerier. The engine does not use it.
func (v *queryStorage) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errNoLabels
}

var errNoLabels = varve.Errorf(varve.Internal, "labels are not part of an evaluation")

// Close cancels the reads of all selectors, and waits until they have ended. After a query that
// succeeded, all reads have ended already.
func (v *queryStorage) Close() error {
	v.cancel()
	for _, s := range v.selected {
		<-s.done
	}
	return nil
}

// Select implements storage.Querier. It begins to read immediately, so several selectors of a query are
// read at the same time. If the query has a single selector, it reads before it returns, which saves a
// goroutine.
func (v *queryStorage) Select(_ context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	s := &selection{done: make(chan struct{}), at: -1}
	v.selected = append(v.selected, s)
	read := func() {
		defer close(s.done)
		s.list, s.err = v.readAll(v.ctx, hints, matchers)
	}
	if v.isSingle {
		read()
	} else {
		go read()
	}
	return s
}

// selection is the result of a selector. It implements storage.SeriesSet.
type selection struct {
	done chan struct{} // closed after list and err are set
	list []*samples
	err  error
	at   int
}

// Next implements storage.SeriesSet. The first call waits for the reads.
func (s *selection) Next() bool {
	<-s.done
	s.at++
	return s.err == nil && s.at < len(s.list)
}

func (s *selection) At() storage.Series { return s.list[s.at] }

func (s *selection) Err() error {
	<-s.done
	return s.err
}

// Warnings returns nil, because a read succeeds as a whole or fails.
func (s *selection) Warnings() annotations.Annotations { return nil }

// readAll returns the series of a selector with their samples, in the order of their labels.
func (v *queryStorage) readAll(ctx context.Context, hints *storage.SelectHints, matchers []*labels.Matcher) ([]*samples, error) {
	buckets, marked := v.bucketsOf(&matchers)
	if err := v.checkBounded(matchers); err != nil {
		return nil, err
	}
	targets, err := v.boundedTargets(ctx, matchers, marked)
	if err != nil {
		return nil, err
	}
	series := seriesCount{limit: v.opts.MaxSeries}
	read := func(ctx context.Context, t *target) ([]*samples, error) {
		return v.readSamples(ctx, t, hints, matchers, &series)
	}
	if marked {
		read = func(ctx context.Context, t *target) ([]*samples, error) {
			list, err := v.readRollups(ctx, t, buckets, hints, matchers)
			return list, cmp.Or(err, series.add(len(list)))
		}
	}
	found := make([][]*samples, len(targets))
	err = v.forEach(ctx, len(targets), func(ctx context.Context, i int) (err error) {
		if found[i], err = read(ctx, &targets[i]); err != nil {
			return fmt.Errorf("device %s in stream %s: %w", targets[i].series.Device, targets[i].series.Stream, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := slices.Concat(found...)
	if err := v.reserveSeries(len(list), hints); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b *samples) int { return labels.Compare(a.metric, b.metric) })
	return list, nil
}

// seriesCount counts the series with samples that a selector has found so far.
type seriesCount struct {
	found atomic.Int64
	limit int
}

// add counts further series, and fails above the limit. So a read ends before it holds many more series.
func (c *seriesCount) add(n int) error {
	if found := int(c.found.Add(int64(n))); found > c.limit {
		return errTooManySeries(found, c.limit)
	}
	return nil
}

func errTooManySeries(found, limit int) error {
	return varve.Errorf(varve.Invalid, "the selector matches %d series, and the limit is %d: select fewer devices or fields, or raise query.max_series", found, limit)
}

// boundedTargets returns the targets of a selector. If they are more than the limit of series,
// boundedTargets omits targets without data, and counts the series in the last readings of the others. It
// fails above the limit. For roll-ups, a target counts as one series. A target may have more series than
// are counted, so readAll counts once more.
func (v *queryStorage) boundedTargets(ctx context.Context, matchers []*labels.Matcher, fromRollups bool) ([]target, error) {
	targets, _, err := v.targets(ctx, v.tenant, matchers, 0)
	if err != nil || len(targets) <= v.opts.MaxSeries {
		return targets, err
	}
	counts, hasData, lag := make([]int, len(targets)), make([]bool, len(targets)), selectsLag(matchers)
	err = v.forEach(ctx, len(targets), func(ctx context.Context, i int) (err error) {
		if fromRollups {
			counts[i], err = v.countRollups(ctx, targets[i].series)
			hasData[i] = counts[i] > 0
			return err
		}
		s, err := v.survey(ctx, targets[i].series)
		hasData[i] = !s.last.IsZero()
		if lag && hasData[i] {
			counts[i]++
		}
		for _, field := range s.fields {
			if matchesField(field, matchers) {
				counts[i]++
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	sum, kept := 0, targets[:0]
	for i, n := range counts {
		if sum += n; hasData[i] {
			kept = append(kept, targets[i])
		}
	}
	if sum > v.opts.MaxSeries {
		return nil, errTooManySeries(sum, v.opts.MaxSeries)
	}
	return kept, nil
}

// forEach calls the function "do" for each number from 0 to n-1, several at a time.
func (e *Engine) forEach(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(e.opts.Parallel, n) {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(ctx, int(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// windowOf returns the window from the first to the last millisecond, both included.
func windowOf(first, last int64) varve.Window {
	all := varve.AllTime()
	first, last = max(first, 0), min(last, all.To.UnixMilli()-1)
	if last < first {
		return varve.Window{From: all.From, To: all.From}
	}
	return varve.Window{From: time.UnixMilli(first).UTC(), To: time.UnixMilli(last + 1).UTC()}
}

// readSamples returns the series of a device in a stream, with their samples from readings.
func (v *queryStorage) readSamples(ctx context.Context, t *target, hints *storage.SelectHints, matchers []*labels.Matcher, series *seriesCount) ([]*samples, error) {
	w := windowOf(hints.Start, hints.End)
	if !w.From.Before(w.To) {
		return nil, nil
	}
	fields, _ := namesOf(nameLabel, matchers)
	c := collector{target: t, matchers: matchers, moments: v.momentsOf(hints)}
	if slices.Contains(fields, lagMetric) {
		c.lag, fields = &samples{metric: t.metric(lagMetric), moments: c.moments}, nil
	}
	rows, err := v.opts.Readings.Open(ctx, query.Query{Series: t.series, Window: w, Fields: fields})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for more := true; more; {
		err := v.opts.InTurn(ctx, func() error {
			part, err := rows.NextPart(ctx)
			if err != nil {
				return err
			}
			more = !part.IsEnd()
			c.addPart(&part)
			return v.countScanned(part.Len())
		})
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(series.add(c.takeNewSeries()), v.count(c.takeNew())); err != nil {
			return nil, err
		}
	}
	return c.series(), nil
}
