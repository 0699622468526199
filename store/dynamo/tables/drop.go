package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
)

// Drop implements store.Lifecycle. It completes an earlier call that was interrupted.
func (l *Lifecycle) Drop(ctx context.Context, t grid.Table) error {
	defer l.records.lists.Clear()
	d, err := l.admin.Describe(ctx, t.Name())
	if err != nil {
		return err
	}
	owned, err := l.admin.Owns(ctx, d)
	if err != nil {
		return err
	}
	if !owned { // another program may have created a table after an interrupted drop
		return store.Droppable(&store.Info{Table: t})
	}
	if r, err := l.records.read(ctx, t); err != nil {
		return err
	} else if r == nil || r.Phase != dropping {
		if err := l.markDropping(ctx, t); err != nil {
			return err
		}
	}
	if err := l.unprotectAndDelete(ctx, d); err != nil {
		now, derr := l.admin.Describe(ctx, t.Name())
		if derr == nil && now.TableStatus != types.TableStatusDeleting { // if the table is being deleted, only the answer was lost
			unprotected := aws.ToBool(d.DeletionProtectionEnabled) && !aws.ToBool(now.DeletionProtectionEnabled)
			return errors.Join(err, l.undoDrop(ctx, t, unprotected))
		}
		if derr != nil && !client.IsNoTable(derr) {
			return errors.Join(err, derr)
		}
	}
	return l.awaitDeleted(ctx, t)
}

// markDropping records that an owned table is being dropped, if the table may be dropped. From then on,
// no other change of the table is possible.
func (l *Lifecycle) markDropping(ctx context.Context, t grid.Table) error {
	return l.records.update(ctx, t, func(r *record) error {
		in := store.Info{Table: t, Owned: true, Hold: r.Hold, Retired: r.Retired}
		if err := store.Droppable(&in); err != nil {
			return err
		}
		r.Phase = dropping
		return nil
	})
}

// unprotectAndDelete begins the deletion of a table, and does not wait for its end.
func (l *Lifecycle) unprotectAndDelete(ctx context.Context, d *types.TableDescription) error {
	name := aws.ToString(d.TableName)
	if aws.ToBool(d.DeletionProtectionEnabled) {
		if err := l.admin.SetProtection(ctx, name, false); err != nil {
			return err
		}
	}
	return l.admin.Delete(ctx, name)
}

const undoWithin = time.Minute

// undoDrop makes a table usable again if it could not be deleted. The table stays retired. If the drop
// has turned the deletion protection off, undoDrop turns it on.
func (l *Lifecycle) undoDrop(ctx context.Context, t grid.Table, unprotected bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	if unprotected {
		if err := l.admin.SetProtection(ctx, t.Name(), true); err != nil {
			return err
		}
	}
	r, err := l.records.read(ctx, t)
	if err != nil || r == nil || r.Phase != dropping {
		return err
	}
	r.Phase = usable
	return l.records.replace(ctx, t, r)
}

// awaitDeleted waits until a table is deleted, and then deletes its record. It stops if another
// process recreates the table.
func (l *Lifecycle) awaitDeleted(ctx context.Context, t grid.Table) error {
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return fmt.Errorf("wait for table %s to be deleted: %w", t, err)
		}
		err := l.admin.Exists(ctx, t.Name())
		if client.IsNoTable(err) {
			return l.records.delete(ctx, t, dropping)
		}
		if err != nil {
			return err
		}
		if r, err := l.records.read(ctx, t); err != nil || r == nil || r.Phase != dropping {
			return err
		}
	}
}
