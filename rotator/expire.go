package rotator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// expireEvery is the minimum time between two deletions of expired readings. If the rotator runs
// every hour, it deletes them about every 20 hours.
const expireEvery = 20 * time.Hour

// deleteExpired deletes expired readings from tables that are neither retired nor on hold. It does
// so about once a day, even if other readings of a table have not expired. So a reading is deleted
// within about a day after it expired, if trustedTime permits and roll-ups do not need it.
// deleteExpired calls the function "check" before each table. It deletes no readings if the policy does
// not allow drops, or if tables are archived first.
func (r *Rotator) deleteExpired(ctx context.Context, check func(context.Context) error) error {
	now := r.opts.Now()
	if r.opts.Expirer == nil || !r.opts.Policy.Drop || r.opts.Policy.ArchiveFirst || now.Sub(r.expired) < expireEvery && !now.Before(r.expired) {
		return nil
	}
	trusted, err := r.trustedTime(ctx, now)
	if trusted.IsZero() || err != nil {
		return err
	}
	infos, err := r.Tables(ctx)
	if err != nil {
		return err
	}
	inUse := func(grid.Table) func(time.Time) bool { return nil }
	if r.opts.ReadingsInUse != nil {
		if inUse, err = r.opts.ReadingsInUse(ctx); err != nil {
			return fmt.Errorf("find readings in use: %w", err)
		}
	}
	var errs []error
	for i := range infos {
		in := &infos[i]
		class, ok := r.expirable(in, trusted)
		if !ok {
			continue
		}
		if err := check(ctx); err != nil {
			return errors.Join(joinFirst(errs), err)
		}
		begin := time.Now()
		n, err := r.opts.Expirer.DeleteExpired(ctx, in.Table, func(s varve.Series) time.Time {
			return r.opts.Policy.deletable(trusted, r.opts.Policy.Retention.RetentionOf(s.Stream, class))
		}, inUse(in.Table))
		if errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrNoTable) {
			continue // the table was put on hold, retired or dropped meanwhile
		}
		if n > 0 || err != nil {
			r.opts.Events.Expired(in.Table, n, time.Since(begin), err)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("delete expired readings of %s: %w", in.Table, err))
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(joinFirst(errs), context.Cause(ctx))
		}
	}
	if len(errs) == 0 {
		r.expired = now
	}
	return joinFirst(errs)
}

// DeletesAt returns the approximate time at which an expired reading of a table is deleted. That is a day
// after the reading may be deleted. If the table is retired before, it is the time of the drop.
// The argument "last" is the later of the event time and the arrival of the reading. The zero time means
// that no deletion is planned, for example because the table is on hold or must be archived first.
func (r *Rotator) DeletesAt(in *store.Info, stream string, last time.Time) time.Time {
	p := r.opts.Policy
	class, ok := p.Retention.ClassOfPrefix(in.Prefix)
	if !p.Drop || p.ArchiveFirst || !ok || !in.Owned || in.Hold != "" {
		return time.Time{}
	}
	s := p.ScheduleOf(in)
	keep := p.Retention.RetentionOf(stream, class.Name)
	if keep == retention.Forever {
		return s.Drops
	}
	kept := keep + r.opts.ExpireGrace
	if r.opts.Expirer != nil {
		kept = max(keep, p.RecountGrace)
	}
	at := last.Add(kept + 24*time.Hour)
	if !s.Retires.IsZero() && at.After(s.Retires) {
		return s.Drops // a retired table loses no single readings until it is dropped
	}
	return at
}

// expirable reports whether a table may contain readings that may be deleted, and returns the class
// of the table.
func (r *Rotator) expirable(in *store.Info, now time.Time) (class string, ok bool) {
	c, ok := r.opts.Policy.Retention.ClassOfPrefix(in.Prefix)
	if !ok || !in.Owned || store.Expirable(in) != nil || in.Readings == 0 {
		return "", false
	}
	cutoff := r.opts.Policy.deletable(now, r.opts.Policy.Retention.ShortestOf(c.Name))
	oldest := time.Unix(in.Start, 0)
	if begin := in.Month.Start(); begin.After(oldest) {
		oldest = begin // no reading arrived before; a reading expires by the later of its event time and its arrival
	}
	return c.Name, !cutoff.IsZero() && oldest.Before(cutoff)
}

// deletable returns the cutoff for deletions, given a retention. A reading may be deleted if neither
// its event time nor its arrival is after the cutoff. The zero time means that no readings may be
// deleted. Readings that arrived within RecountGrace may still be needed to recompute roll-ups.
func (p Policy) deletable(now time.Time, d time.Duration) time.Time {
	if d == retention.Forever {
		return time.Time{}
	}
	return retention.Cutoff(now, max(d, p.RecountGrace))
}
