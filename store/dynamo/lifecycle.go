package dynamo

import (
	"context"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/verify"
)

// tableCalls implements store.Catalog, store.Creator, store.Lifecycle, store.DropCompleter,
// store.Scaler and store.ExpiredKeeper.
type tableCalls struct{ *core }

// Tables implements store.Catalog. In the details, the number of readings is the number of rows,
// except stream rows.
func (s tableCalls) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	if err := s.calls.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.leave()
	infos, err := s.tables.Catalog.Tables(ctx, f)
	for i := range infos {
		infos[i].Readings = max(infos[i].Readings-s.layouts.Rows(infos[i].Table), 0)
	}
	return infos, err
}

// Create implements store.Creator.
func (s tableCalls) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	return s.calls.do(ctx, func() error {
		s.layouts.Drop(t)
		defer s.writer.DropClosed(t)
		return s.tables.Lifecycle.Create(ctx, t, tier)
	})
}

// Tune implements store.Lifecycle.
func (s tableCalls) Tune(ctx context.Context, t grid.Table, tier store.Tier) error {
	return s.calls.do(ctx, func() error { return s.tables.Lifecycle.Tune(ctx, t, tier) })
}

// ReportUse implements store.Scaler.
func (s tableCalls) ReportUse(ctx context.Context) (scales bool, err error) {
	err = s.calls.do(ctx, func() error {
		scales, err = s.tables.Scaler.Report(ctx)
		return err
	})
	return scales, err
}

// Scale implements store.Scaler.
func (s tableCalls) Scale(ctx context.Context) (changes []store.CapacityChange, err error) {
	err = s.calls.do(ctx, func() error {
		changes, err = s.tables.Scaler.Scale(ctx)
		return err
	})
	return changes, err
}

// Retire implements store.Lifecycle.
func (s tableCalls) Retire(ctx context.Context, t grid.Table, at time.Time) error {
	return s.calls.do(ctx, func() error { return s.tables.Lifecycle.Retire(ctx, t, at) })
}

// Restore implements store.Lifecycle.
func (s tableCalls) Restore(ctx context.Context, t grid.Table) error {
	return s.calls.do(ctx, func() error { return s.tables.Lifecycle.Restore(ctx, t) })
}

// Hold implements store.Lifecycle.
func (s tableCalls) Hold(ctx context.Context, t grid.Table, reason string) error {
	return s.calls.do(ctx, func() error { return s.tables.Lifecycle.Hold(ctx, t, reason) })
}

// Drop implements store.Lifecycle.
func (s tableCalls) Drop(ctx context.Context, t grid.Table) error {
	return s.calls.do(ctx, func() error {
		s.layouts.Drop(t)
		defer s.writer.DropClosed(t)
		return s.tables.Lifecycle.Drop(ctx, t)
	})
}

// CompleteDrops implements store.DropCompleter.
func (s tableCalls) CompleteDrops(ctx context.Context) error {
	return s.calls.do(ctx, func() error { return s.tables.Lifecycle.CompleteDrops(ctx) })
}

// AcceptLoss records that the loss of a deleted table is known. After that, coverage does not report
// the table as missing. If the table is not lost, nothing changes.
func (s tableCalls) AcceptLoss(ctx context.Context, t grid.Table) error {
	return s.calls.do(ctx, func() error {
		s.layouts.Drop(t)
		return s.tables.Lifecycle.AcceptLoss(ctx, t)
	})
}

// KeepExpired implements store.ExpiredKeeper. It turns the time to live of all active tables off.
// When a hold of a table is released later, Hold turns the time to live of that table on, unless
// Options.KeepExpired is set.
func (s tableCalls) KeepExpired(ctx context.Context) error {
	return s.calls.do(ctx, func() error { return s.tables.KeepExpired(ctx) })
}

// Verify reads whole tables and checks the invariants of each row. It changes nothing. It needs
// the permission dynamodb:Scan.
func (s tableCalls) Verify(ctx context.Context, v Verification) (Verified, error) {
	if err := s.calls.enter(ctx); err != nil {
		return Verified{}, err
	}
	defer s.calls.leave()
	return verify.Verify(ctx, s.tables.Catalog, s.reader, v)
}

// PlanRepair lists the streams in all tables, and the repairs that tables need. It changes
// nothing.
func (s tableCalls) PlanRepair(ctx context.Context, o Repairing) (RepairPlan, error) {
	if err := s.calls.enter(ctx); err != nil {
		return RepairPlan{}, err
	}
	defer s.calls.leave()
	return s.repairer().NewPlan(ctx, o)
}

// Repair writes the stream rows of a plan. If acceptLoss is set, it also accepts the loss of
// tables. The caller repairs the streams in the registry.
func (s tableCalls) Repair(ctx context.Context, p *RepairPlan, acceptLoss bool) error {
	return s.calls.do(ctx, func() error {
		if !acceptLoss {
			return s.repairer().Apply(ctx, p, nil)
		}
		return s.repairer().Apply(ctx, p, func(ctx context.Context, t grid.Table) error {
			s.layouts.Drop(t)
			return s.tables.Lifecycle.AcceptLoss(ctx, t)
		})
	})
}
