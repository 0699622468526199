package fleet

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"github.com/varvedb/varve"
)

// Watch takes in that readings arrived and are stored, all but those with a
// rejecting verdict, and raises and resolves the alerts that they make due.
// Readings for which that cannot be done are rejected for now: sent again, they
// are duplicates, and it is done then. An error is that of an ended context.
func (f *Fleet) Watch(ctx context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) error {
	if f.seen.note(arrived, readings, verdicts) && len(readings) > 0 {
		if set, err := f.inForce(ctx, readings[0].Tenant); err == nil && set.empty() {
			return nil
		}
	}
	var tenant string
	var set *ruleSet
	var failed error
	var groups map[varve.Series][]int
	for i := range readings {
		r := &readings[i]
		if verdicts[i].Outcome == varve.Rejected {
			continue
		}
		if set == nil && failed == nil || r.Tenant != tenant {
			tenant = r.Tenant
			if set, failed = f.inForce(ctx, tenant); ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		switch {
		case failed != nil:
			verdicts[i] = unwatched(failed)
		case !set.empty() && len(set.of(r.Series)) > 0:
			if groups == nil {
				groups = map[varve.Series][]int{}
			}
			groups[r.Series] = append(groups[r.Series], i)
		}
	}
	for s, index := range groups {
		err := f.watchSeries(ctx, s, readings, verdicts, index)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, i := range index {
			if err != nil {
				verdicts[i] = unwatched(err)
			}
		}
	}
	return nil
}

func unwatched(err error) varve.Verdict {
	return varve.Reject(varve.CodeUnavailable, "the reading is stored, and its alerts could not be looked after: send it again (%s)", err)
}

// seriesLocks lets one look at a series go on at a time in this process.
type seriesLocks struct {
	locks [256]sync.Mutex
}

var seriesSeed = maphash.MakeSeed()

func (l *seriesLocks) of(s varve.Series) *sync.Mutex {
	return &l.locks[maphash.Comparable(seriesSeed, s)%uint64(len(l.locks))]
}

// watchSeries looks at a series by all rules about it.
func (f *Fleet) watchSeries(ctx context.Context, s varve.Series, readings []varve.Reading, verdicts []varve.Verdict, index []int) error {
	set, err := f.inForce(ctx, s.Tenant)
	if err != nil {
		return err
	}
	lock := f.looks.of(s)
	lock.Lock()
	defer lock.Unlock()
	var errs []error
	for _, rule := range set.of(s) {
		l := look{f: f, rule: rule, series: s}
		for _, i := range index {
			l.came(&readings[i], verdicts[i].Outcome)
		}
		if err := l.settle(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
