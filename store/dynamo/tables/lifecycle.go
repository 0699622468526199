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
// counts as foreign. It begins again if another process has changed the record meanwhile.
func (l *Lifecycle) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	defer l.records.lists.Clear()
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return err
		}
		if err := l.create(ctx, t, tier); !errors.Is(err, store.ErrCondition) {
			return err
		}
	}
}

// create is like Create, but fails with ErrCondition if another process has changed the record.
func (l *Lifecycle) create(ctx context.Context, t grid.Table, tier store.Tier) error {
	r, err := l.records.read(ctx, t)
	if err != nil {
		return err
	}
	err = l.admin.Exists(ctx, t.Name())
	exists := err == nil
	if exists && r == nil { // another process may have created the table since the record was read
		if r, err = l.records.read(ctx, t); err != nil {
			return err
		}
	}
	switch {
	case !exists && !client.IsNoTable(err):
		return err
	case exists && r == nil:
		return fmt.Errorf("create %s: %w", t, store.ErrForeign)
	case exists && r.Phase == usable:
		return nil
	case exists && r.Phase == dropping:
		return errDropped(t)
	case r == nil || !exists && r.Phase != making:
		if r, err = l.beginCreate(ctx, t, tier, r); err != nil {
			return err
		}
	}
	return l.createTable(ctx, t, r)
}

func errDropped(t grid.Table) error {
	return &varve.Error{Failure: varve.Unavailable, Message: fmt.Sprintf("table %s is being dropped: retry later", t), RetryAfter: time.Second}
}

// createTable creates the table of a record, and marks it as usable. It leaves the time to live of
// a cold table off, because only a restored table is created cold, and is then put on hold. If the time
// to live were on, the hold would have to turn it off, and DynamoDB refuses a second change within an
// hour. The release of the hold turns the time to live on.
func (l *Lifecycle) createTable(ctx context.Context, t grid.Table, r *record) error {
	template, err := Template(ctx, l.items)
	if err != nil {
		return err
	}
	settings := template.Of(l.classOf(t.Prefix))
	desc, created, err := l.admin.Create(ctx, tableInput(t, r.Tier, &settings, l.admin.OwnerTags()))
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
	expires := !l.keepExpired && r.Hold == "" && r.Tier != store.Cold
	if err := l.admin.SetTTL(ctx, t.Name(), row.AttrTTL, expires); err != nil {
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
// record, the new record takes over the mark of use, the loss and the hold. If the old record is of a used
// table without a loss, the new record gets a loss.
func (l *Lifecycle) beginCreate(ctx context.Context, t grid.Table, tier store.Tier, old *record) (*record, error) {
	r := &record{Phase: making, Tier: tier, Created: l.now().UTC()}
	if old == nil {
		return r, l.records.create(ctx, t, r)
	}
	r.Version, r.Used, r.Hold = old.Version, old.Used, old.Hold
	if r.Lost = old.Lost; r.Lost.IsZero() && old.Used && old.Phase == usable {
		r.Lost = r.Created
	}
	return r, l.records.replace(ctx, t, r)
}

// abortCreate deletes the record of a table that belongs to another owner.
func (l *Lifecycle) abortCreate(ctx context.Context, t grid.Table) error {
	return errors.Join(fmt.Errorf("create %s: %w", t, store.ErrForeign), l.records.delete(ctx, t, making))
}

// endCreate marks a table as usable, unless another process has done so. It fails if another process has
// dropped the table meanwhile.
func (l *Lifecycle) endCreate(ctx context.Context, t grid.Table) error {
	r, err := l.records.read(ctx, t)
	switch {
	case err != nil || r.isUsable():
		return err
	case r == nil || r.Phase != making:
		return errDropped(t)
	}
	r.Phase = usable
	return l.records.replace(ctx, t, r)
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

// Restore implements store.Lifecycle. It also restores a table whose drop was interrupted before its
// deletion.
func (l *Lifecycle) Restore(ctx context.Context, t grid.Table) error {
	if err := l.endDrop(ctx, t); err != nil {
		return err
	}
	return l.records.update(ctx, t, func(r *record) error { r.Retired = time.Time{}; return nil })
}

// endDrop undoes a drop that was interrupted before the deletion of its table. If no drop was
// interrupted, or if the table is being deleted, it does nothing.
func (l *Lifecycle) endDrop(ctx context.Context, t grid.Table) error {
	r, err := l.records.read(ctx, t)
	if err != nil || r == nil || r.Phase != dropping {
		return err
	}
	_, err = l.undoDrop(ctx, t)
	return err
}

// Hold implements store.Lifecycle. While a table is on hold, DynamoDB does not delete its
// expired rows. A hold also undoes a drop that was interrupted before the deletion of the table.
func (l *Lifecycle) Hold(ctx context.Context, t grid.Table, reason string) error {
	if reason != "" {
		if err := l.endDrop(ctx, t); err != nil {
			return err
		}
	}
	if err := l.records.update(ctx, t, func(r *record) error { r.Hold = reason; return nil }); err != nil {
		return err
	}
	if err := l.admin.SetTTL(ctx, t.Name(), row.AttrTTL, reason == "" && !l.keepExpired); err != nil {
		return fmt.Errorf("the hold of %s is recorded, but the deletion of expired rows is not changed, "+
			"because DynamoDB allows that once an hour: repeat the hold later: %w", t, err)
	}
	return nil
}
