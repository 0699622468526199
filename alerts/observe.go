package alerts

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
)

// Observe registers the devices of readings that were stored just now, and evaluates the rules on
// these readings. It ignores rejected readings, except conflicts. For a conflict, the stored values
// count.
//
// If the device of a reading cannot be registered, or a rule cannot be evaluated, the reading is
// rejected as unavailable. When it is resent, it is a duplicate, and Observe completes the work.
// An error means that the context has ended.
func (m *Monitor) Observe(ctx context.Context, now time.Time, readings []varve.Reading, verdicts []varve.Verdict) error {
	for len(readings) > 0 {
		tenant, n := firstTenant(readings, verdicts)
		if tenant != "" {
			if err := m.observeTenant(ctx, now, tenant, readings[:n], verdicts[:n]); err != nil {
				return err
			}
		}
		readings, verdicts = readings[n:], verdicts[n:]
	}
	return nil
}

// firstTenant returns the tenant of the first readings, and the number of readings before the
// first one of another tenant. Rejected readings may lack a tenant, so they are counted with any
// tenant. The tenant is empty if all readings are rejected.
func firstTenant(readings []varve.Reading, verdicts []varve.Verdict) (tenant string, n int) {
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

func (m *Monitor) observeTenant(ctx context.Context, now time.Time, tenant string, readings []varve.Reading, verdicts []varve.Verdict) error {
	set, err := m.rules.inForce(ctx, tenant)
	if err != nil {
		// Reject the readings, and return without registering their devices. When clients resend the readings,
		// the devices are registered.
		rejectAll(verdicts, err)
		return context.Cause(ctx)
	}
	if err := m.opts.Devices.Touch(ctx, now, tenant, set.seen, readings, verdicts); err != nil || set.isEmpty() {
		return err
	}
	m.evaluateAll(ctx, set.group(readings, verdicts), readings, verdicts)
	return context.Cause(ctx)
}

// maxEvaluations is the number of series of one write that are evaluated at the same time. Most of an
// evaluation waits for the store, and the store syncs the writes of several evaluations together.
const maxEvaluations = 8

// evaluateAll evaluates the rules on groups of readings, given by index. It rejects the readings of
// series whose evaluation fails.
func (m *Monitor) evaluateAll(ctx context.Context, groups map[varve.Series][]int, readings []varve.Reading, verdicts []varve.Verdict) {
	evaluateOne := func(s varve.Series, index []int) {
		if err := m.evaluateSeries(ctx, s, readings, verdicts, index); err != nil {
			for _, i := range index {
				verdicts[i] = notEvaluated(err)
			}
		}
	}
	var running errgroup.Group
	running.SetLimit(maxEvaluations)
	for s, index := range groups {
		if len(groups) == 1 {
			evaluateOne(s, index)
			return
		}
		running.Go(func() error {
			evaluateOne(s, index)
			return nil
		})
	}
	_ = running.Wait() // each failure is in the verdicts
}

// group returns the indexes of the stored readings of each series that has rules. A stored reading
// without an id gets its content id.
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
					if r := &readings[i]; r.ID.IsZero() {
						r.ID = r.ContentID()
					}
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

func rejectAll(verdicts []varve.Verdict, err error) {
	for i := range verdicts {
		if verdicts[i].HasStored() {
			verdicts[i] = notEvaluated(err)
		}
	}
}

func notEvaluated(err error) varve.Verdict {
	return varve.Reject(varve.CodeUnavailable, "the reading is stored, but its rules were not evaluated: send it again (%s)", err)
}

func (m *Monitor) evaluateSeries(ctx context.Context, s varve.Series, readings []varve.Reading, verdicts []varve.Verdict, index []int) error {
	set, err := m.rules.inForce(ctx, s.Tenant)
	if err != nil {
		return err
	}
	lock := m.series.of(s)
	lock.Lock()
	defer lock.Unlock()
	var errs []error
	var fresh []*varve.Reading
	if m.stores.atomic != nil {
		fresh = newReadings(readings, verdicts, index)
	}
	for _, rule := range set.of(s) {
		e := evaluation{
			reconciler: reconciler{subject: subjectOf(rule, s), stores: m.stores},
			kind:       rule.byReadings(), samples: samplesOf(ctx, m.opts.Source, rule, s),
		}
		for _, i := range index {
			e.add(&readings[i], verdicts[i].Outcome)
		}
		if err := m.newest.apply(ctx, &e, fresh); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
