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
	if r, err := l.records.read(ctx, t); err != nil {
		return err
	} else if r == nil || r.Phase != dropping {
		if err := l.markDropping(ctx, t, owned); err != nil {
			return err
		}
	}
	if aws.ToBool(d.DeletionProtectionEnabled) {
		if err := l.admin.SetProtection(ctx, t.Name(), false); err != nil {
			return err
		}
	}
	if err := l.admin.Delete(ctx, t.Name()); err != nil {
		now, derr := l.admin.Describe(ctx, t.Name())
		if derr == nil && now.TableStatus != types.TableStatusDeleting { // if the table is being deleted, only the answer was lost
			return errors.Join(err, l.undoDrop(ctx, t, d))
		}
		if derr != nil && !client.IsNoTable(derr) {
			return errors.Join(err, derr)
		}
	}
	return l.awaitDeleted(ctx, t)
}

// markDropping records that a table is being dropped, if the table may be dropped. From then on, no other
// change of the table is possible.
func (l *Lifecycle) markDropping(ctx context.Context, t grid.Table, owned bool) error {
	return l.records.update(ctx, t, func(r *record) error {
		in := store.Info{Table: t, Owned: owned, Hold: r.Hold, Retired: r.Retired}
		if err := store.Droppable(&in); err != nil {
			return err
		}
		r.Phase = dropping
		return nil
	})
}

const undoWithin = time.Minute

// undoDrop makes a table usable again if it could not be deleted. The table stays retired. undoDrop
// also restores the deletion protection that d describes.
func (l *Lifecycle) undoDrop(ctx context.Context, t grid.Table, d *types.TableDescription) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	if aws.ToBool(d.DeletionProtectionEnabled) {
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
