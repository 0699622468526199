package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/admin"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/row"
)

// Lifecycle creates, changes and drops tables.
type Lifecycle struct {
	records *Records
	admin   *admin.Admin
	items   *items.Items
	classOf func(prefix string) string
	now     func() time.Time

	keepExpired bool // whether time to live stays off in all tables
}

// Create implements store.Creator. It writes the record first, because a table without a record
// counts as foreign.
func (l *Lifecycle) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	defer l.records.lists.Clear()
	r, err := l.records.read(ctx, t)
	if err != nil {
		return err
	}
	err = l.admin.Exists(ctx, t.Name())
	exists := err == nil
	switch {
	case err != nil && !client.IsNoTable(err):
		return err
	case exists && r == nil:
		return fmt.Errorf("create %s: %w", t, store.ErrForeign)
	case exists && r.Phase == usable:
		return nil
	case exists && r.Phase == dropping:
		return &varve.Error{Failure: varve.Unavailable, Message: fmt.Sprintf("table %s is being dropped: retry later", t), RetryAfter: time.Second}
	case r == nil || !exists && r.Phase != making:
		if err := l.beginCreate(ctx, t, tier, r); err != nil {
			return err
		}
	}
	return l.createTable(ctx, t, tier)
}

// createTable creates a table that already has a record, and marks it as usable.
func (l *Lifecycle) createTable(ctx context.Context, t grid.Table, tier store.Tier) error {
	template, err := Template(ctx, l.items)
	if err != nil {
		return err
	}
	settings := template.Of(l.classOf(t.Prefix))
	desc, created, err := l.admin.Create(ctx, tableInput(t, tier, &settings, l.admin.OwnerTags()))
	if err != nil {
		return err
	}
	if !created { // the table was created by an earlier call of this deployment or by another owner
		owned, err := l.admin.Owns(ctx, desc)
		if err != nil {
			return err
		}
		if !owned {
			return l.abortCreate(ctx, t)
		}
	}
	if err := l.admin.SetTTL(ctx, t.Name(), row.AttrTTL, !l.keepExpired); err != nil {
		return err
	}
	if settings.IsRecoverable() {
		if err := l.admin.EnableRecovery(ctx, t.Name()); err != nil {
			return err
		}
	}
	return l.endCreate(ctx, t)
}

// beginCreate writes the record of a table before the table is created. If a missing table has an old
// record, the new record takes over the mark of use, the loss and the hold. Another process may do the
// same at the same time.
func (l *Lifecycle) beginCreate(ctx context.Context, t grid.Table, tier store.Tier, old *record) error {
	r := &record{Phase: making, Tier: tier, Created: l.now().UTC()}
	if old == nil {
		return ignoreCondition(l.records.create(ctx, t, r))
	}
	r.Version, r.Used, r.Hold = old.Version, old.Used, old.Hold
	if r.Lost = old.Lost; r.Lost.IsZero() && old.Used && old.Phase == usable {
		r.Lost = r.Created
	}
	return ignoreCondition(l.records.replace(ctx, t, r))
}

// abortCreate deletes the record of a table that belongs to another owner.
func (l *Lifecycle) abortCreate(ctx context.Context, t grid.Table) error {
	return errors.Join(fmt.Errorf("create %s: %w", t, store.ErrForeign), l.records.delete(ctx, t, making))
}

// endCreate marks a table as usable, unless another process has done so.
func (l *Lifecycle) endCreate(ctx context.Context, t grid.Table) error {
	r, err := l.records.read(ctx, t)
	if err != nil || r == nil || r.Phase != making {
		return err
	}
	r.Phase = usable
	return ignoreCondition(l.records.replace(ctx, t, r))
}

// Retire implements store.Lifecycle.
func (l *Lifecycle) Retire(ctx context.Context, t grid.Table, at time.Time) error {
	return l.records.update(ctx, t, func(r *record) error {
		if err := store.Retirable(&store.Info{Table: t, Hold: r.Hold}); err != nil {
			return err
		}
		r.Retired = at.UTC()
		return nil
	})
}

// CheckErasable returns an error if readings of a table must not be erased.
func (l *Lifecycle) CheckErasable(ctx context.Context, t grid.Table) error {
	r, err := l.records.read(ctx, t)
	if err != nil {
		return err
	}
	if !r.isUsable() {
		return fmt.Errorf("%s: %w", t, store.ErrNoTable)
	}
	return store.Erasable(&store.Info{Table: t, Hold: r.Hold})
}

// Restore implements store.Lifecycle.
func (l *Lifecycle) Restore(ctx context.Context, t grid.Table) error {
	return l.records.update(ctx, t, func(r *record) error { r.Retired = time.Time{}; return nil })
}

// Hold implements store.Lifecycle. While a table is on hold, DynamoDB does not delete its
// expired rows.
func (l *Lifecycle) Hold(ctx context.Context, t grid.Table, reason string) error {
	if err := l.records.update(ctx, t, func(r *record) error { r.Hold = reason; return nil }); err != nil {
		return err
	}
	if err := l.admin.SetTTL(ctx, t.Name(), row.AttrTTL, reason == "" && !l.keepExpired); err != nil {
		return fmt.Errorf("the hold of %s is recorded, but the deletion of expired rows is not changed, "+
			"because DynamoDB allows that once an hour: repeat the hold later: %w", t, err)
	}
	return nil
}
