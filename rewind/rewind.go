// Package rewind removes, from a restored store, the readings that arrived after a given time.
//
//	backup ──restore──▶ store of the backup ──Run──▶ readings that had arrived by the time
//
// [Run] rewinds a [Store], and returns a [Report] with the numbers of removed readings and
// roll-ups. A reading that arrived at the given time or before stays, as in a query as of this
// time.
//
// These rules hold for a complete run:
//
//   - Readings that arrived later are deleted from all tables, also from retired tables and from
//     tables on hold. Their holds stay.
//   - Roll-ups lose these readings. An hour that also has remaining readings becomes dirty.
//   - All other items stay, because the store has no earlier states of devices, rules, keys, alerts
//     and logs. Change markers of deleted readings are harmless, like the markers of a failed
//     write.
//
// No process may use the store before the end of the run. A failed or interrupted run may leave
// some of the later readings, and a table without its hold. The store must not be used after such a
// run: restore the backup once more.
package rewind

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
)

// Store is a store from which Run can remove readings.
type Store interface {
	store.Store
	// Partitions returns the partitions of items with a prefix.
	Partitions(ctx context.Context, prefix string) ([]string, error)
	// EraseTable erases readings of all series of a table. It ignores the series of the erasure.
	EraseTable(ctx context.Context, e store.Erasure) (int64, error)
}

// Report is the result of a run.
type Report struct {
	Removed int64 // number of readings that arrived after the given time
	Rollups int   // number of deleted partials of hours; hours with remaining readings will be recounted
	// First is the first arrival of the removed readings; the zero time means that none was removed.
	First time.Time
	// Kept is true if the store has readings that arrived at the given time or before.
	Kept bool
}

// Run removes readings with an arrival after the argument "arrived" from tables and from roll-ups.
func Run(ctx context.Context, st Store, now, arrived time.Time) (Report, error) {
	r := run{store: st, arrived: arrived}
	tables, err := st.Tables(ctx, store.Filter{Any: true, Window: varve.AllTime(), Details: true, Fresh: true})
	if err != nil {
		return r.Report, err
	}
	for i := range tables {
		in := &tables[i]
		if !in.Owned || in.Status == store.Gone || in.Status == store.Deleting {
			continue
		}
		if err := r.rewindTable(ctx, in); err != nil {
			return r.Report, fmt.Errorf("table %s: %w", in.Table, err)
		}
	}
	partitions, err := st.Partitions(ctx, rollup.SeriesPrefix())
	if err != nil {
		return r.Report, err
	}
	for _, pk := range partitions {
		s, ok := rollup.ParseSeries(pk)
		if !ok {
			continue
		}
		n, err := rollup.Rewind(ctx, st, now, s, arrived)
		if err != nil {
			return r.Report, err
		}
		r.Rollups += n
	}
	return r.Report, nil
}

type run struct {
	Report
	store   Store
	arrived time.Time
}

// rewindTable removes the later readings of a table. A hold protects the readings of the original
// store. This store is a restored copy. So rewindTable releases the hold on the table, and puts it
// back at the end.
func (r *run) rewindTable(ctx context.Context, in *store.Info) error {
	if !in.Month.End().After(r.arrived) {
		return r.findKept(ctx, in)
	}
	if in.Hold != "" {
		if err := r.store.Hold(ctx, in.Table, ""); err != nil {
			return err
		}
	}
	later, token := false, ""
	for {
		page, err := r.store.Series(ctx, store.SeriesQuery{Table: in.Table, After: token})
		if err != nil {
			return err
		}
		for _, s := range page.Series {
			found, err := r.findLater(ctx, in, s)
			if err != nil {
				return err
			}
			later = later || found
		}
		if token = page.Next; token == "" {
			break
		}
	}
	if later {
		n, err := r.store.EraseTable(ctx, store.Erasure{Table: in.Table, Window: varve.AllTime(), After: r.arrived, Arrived: lastArrival})
		if r.Removed += n; err != nil {
			return err
		}
	}
	if in.Hold != "" {
		return r.store.Hold(ctx, in.Table, in.Hold)
	}
	return nil
}

// findKept checks whether a table of an earlier arrival month has readings. All its readings stay.
func (r *run) findKept(ctx context.Context, in *store.Info) error {
	if r.Kept {
		return nil
	}
	page, err := r.store.Series(ctx, store.SeriesQuery{Table: in.Table})
	r.Kept = len(page.Series) > 0
	return err
}

// findLater reports whether a table has readings of a series that arrived after the time to which the store
// is rewound. It also updates r.First and r.Kept.
func (r *run) findLater(ctx context.Context, in *store.Info, s varve.Series) (later bool, err error) {
	of := store.Range{Table: in.Table, Series: s, Window: varve.AllTime(), Consistent: true}
	var page store.Page
	for {
		if page, err = r.store.Read(ctx, of, page.Readings); err != nil {
			return later, err
		}
		for i := range page.Readings {
			at := page.Readings[i].Arrived
			if !at.After(r.arrived) {
				r.Kept = true
				continue
			}
			if later = true; r.First.IsZero() || at.Before(r.First) {
				r.First = at
			}
		}
		if !page.More {
			return later, nil
		}
		last := page.Readings[len(page.Readings)-1].Position()
		of.After = &last
	}
}

// lastArrival is an upper limit of arrivals.
var lastArrival = varve.AllTime().To
