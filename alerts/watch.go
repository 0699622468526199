package alerts

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
)

// Watch takes in that readings are stored, since now, all but those that were
// rejected. It registers their devices, and raises and resolves the alerts that
// they make due. Of a conflict, the reading that is stored under its id is looked
// at. Readings for which that cannot be done are rejected for now: sent again, they
// are duplicates, and it is done then. An error is that of an ended context.
func (m *Monitor) Watch(ctx context.Context, now time.Time, readings []varve.Reading, verdicts []varve.Verdict) error {
	for len(readings) > 0 {
		tenant, n := ofOneTenant(readings, verdicts)
		if tenant != "" {
			if err := m.watchTenant(ctx, now, tenant, readings[:n], verdicts[:n]); err != nil {
				return err
			}
		}
		readings, verdicts = readings[n:], verdicts[n:]
	}
	return nil
}

// ofOneTenant returns how many readings there are before one of another tenant;
// what was rejected may not even say whose it is, and is anybody's. The tenant is
// empty if all were rejected.
func ofOneTenant(readings []varve.Reading, verdicts []varve.Verdict) (tenant string, n int) {
	for ; n < len(readings); n++ {
		of := readings[n].Tenant
		switch {
		case !verdicts[n].HasStored():
		case tenant == "":
			tenant = of
		case of != tenant:
			return tenant, n
		}
	}
	return tenant, n
}

// watchTenant is Watch for readings of one tenant.
func (m *Monitor) watchTenant(ctx context.Context, now time.Time, tenant string, readings []varve.Reading, verdicts []varve.Verdict) error {
	set, err := m.inForce(ctx, tenant)
	if err != nil {
		// That devices were seen is recorded when they are sent again.
		rejectAll(verdicts, err)
		return context.Cause(ctx)
	}
	if err := m.opts.Devices.Touch(ctx, now, tenant, set.listened, readings, verdicts); err != nil || set.empty() {
		return err
	}
	for s, index := range set.group(readings, verdicts) {
		err := m.watchSeries(ctx, s, readings, verdicts, index)
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

// group returns the indexes of the stored readings of each series that has rules.
func (s *ruleSet) group(readings []varve.Reading, verdicts []varve.Verdict) map[varve.Series][]int {
	groups := map[varve.Series][]int{}
	for from := 0; from < len(readings); {
		series, to := readings[from].Series, from+1
		for to < len(readings) && readings[to].Series == series {
			to++
		}
		if len(s.of(series)) > 0 {
			index := slices.Grow(groups[series], to-from)
			for i := from; i < to; i++ {
				if verdicts[i].HasStored() {
					index = append(index, i)
				}
			}
			if len(index) > 0 {
				groups[series] = index
			}
		}
		from = to
	}
	return groups
}

// rejectAll rejects for now what is stored.
func rejectAll(verdicts []varve.Verdict, err error) {
	for i := range verdicts {
		if verdicts[i].HasStored() {
			verdicts[i] = unwatched(err)
		}
	}
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
func (m *Monitor) watchSeries(ctx context.Context, s varve.Series, readings []varve.Reading, verdicts []varve.Verdict, index []int) error {
	set, err := m.inForce(ctx, s.Tenant)
	if err != nil {
		return err
	}
	lock := m.looks.of(s)
	lock.Lock()
	defer lock.Unlock()
	var errs []error
	for _, rule := range set.of(s) {
		e := evaluation{m: m, rule: rule, series: s, message: rule.String()}
		for _, i := range index {
			e.add(&readings[i], verdicts[i].Outcome)
		}
		if err := e.reconcile(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
