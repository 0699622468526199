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

// expireEvery is the minimum time between two deletions of expired readings. The rotator runs
// every hour, so it deletes them once a day.
const expireEvery = 20 * time.Hour

// deleteExpired deletes expired readings from tables that are not retired, on hold or in use. It
// does so about once a day, even if other readings of a table have not expired. So a reading is
// deleted within about a day after its retention and the grace have ended, if mayExpire permits.
// deleteExpired calls check before each table.
func (r *Rotator) deleteExpired(ctx context.Context, check func(context.Context) error) error {
	now := r.opts.Now()
	if r.opts.Expirer == nil || !r.opts.Policy.Drop || now.Sub(r.expired) < expireEvery && !now.Before(r.expired) {
		return nil
	}
	if may, err := r.mayExpire(ctx, now); !may || err != nil {
		return err
	}
	infos, err := r.Tables(ctx)
	if err != nil {
		return err
	}
	why := func(grid.Table, time.Time) string { return "" }
	if r.opts.TablesInUse != nil {
		if why, err = r.opts.TablesInUse(ctx); err != nil {
			return fmt.Errorf("find tables in use: %w", err)
		}
	}
	var errs []error
	for i := range infos {
		in := &infos[i]
		class, ok := r.expirable(in, now)
		if !ok || why(in.Table, now) != "" {
			continue // readings that roll-ups need are deleted another day
		}
		if err := check(ctx); err != nil {
			return errors.Join(joinFirst(errs), err)
		}
		begin := time.Now()
		n, err := r.opts.Expirer.DeleteExpired(ctx, in.Table, func(s varve.Series) time.Time {
			return r.opts.Policy.deletable(now, r.opts.Policy.Retention.RetentionOf(s.Stream, class), r.opts.ExpireGrace)
		})
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

// expirable reports whether a table may hold readings that may be deleted, and returns the class
// of the table.
func (r *Rotator) expirable(in *store.Info, now time.Time) (class string, ok bool) {
	c, ok := r.opts.Policy.Retention.ClassOfPrefix(in.Prefix)
	if !ok || !in.Owned || store.Expirable(in) != nil || in.Readings == 0 {
		return "", false
	}
	cutoff := r.opts.Policy.deletable(now, r.opts.Policy.Retention.ShortestOf(c.Name), r.opts.ExpireGrace)
	oldest := time.Unix(in.Start, 0)
	if begin := in.Month.Start(); begin.After(oldest) {
		oldest = begin // a reading expires by the later of its event time and its arrival
	}
	return c.Name, !cutoff.IsZero() && oldest.Before(cutoff)
}

// deletable returns the cutoff for deletions, given a retention and a grace. A reading may be
// deleted if neither its event time nor its arrival is after the cutoff. The zero time means that
// no readings may be deleted.
func (p Policy) deletable(now time.Time, d, grace time.Duration) time.Time {
	if d == retention.Forever {
		return time.Time{}
	}
	return retention.Cutoff(now, d).Add(-max(grace, p.Grace))
}
