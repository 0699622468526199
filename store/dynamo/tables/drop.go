package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	if err := l.unprotectAndDelete(ctx, t); err != nil {
		undone, uerr := l.undoDrop(ctx, t)
		if undone || uerr != nil {
			return errors.Join(err, uerr)
		}
		// The table is being deleted, so only the answer was lost.
	}
	return l.awaitDeleted(ctx, t)
}

// markDropping records that an owned table is being dropped, if the table may be dropped. From then on,
// Records.update fails for the table, unless undoDrop makes the table usable again.
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

// unprotectAndDelete begins the deletion of a table, and does not wait for its end. It fails if another
// process has undone the drop meanwhile.
func (l *Lifecycle) unprotectAndDelete(ctx context.Context, t grid.Table) error {
	if err := l.admin.SetProtection(ctx, t.Name(), false); err != nil {
		return err
	}
	r, err := l.records.read(ctx, t)
	if err != nil {
		return err
	}
	if r == nil || r.Phase != dropping {
		return fmt.Errorf("drop %s: %w: it was restored meanwhile", t, store.ErrRefused)
	}
	return l.admin.Delete(ctx, t.Name())
}

const undoWithin = time.Minute

// undoDrop makes a table usable again if its deletion has not begun. The table stays retired. undoDrop
// returns false if the table is missing or is being deleted, and fails if another program owns it. It
// also works after the end of ctx.
//
// Another process may be dropping the table. So undoDrop changes the record first, and then turns the
// deletion protection on. That process reads the record after it has turned the protection off. It
// finds the record changed, or DynamoDB refuses the deletion, or the deletion began before.
func (l *Lifecycle) undoDrop(ctx context.Context, t grid.Table) (undone bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	d, err := l.describeRemaining(ctx, t)
	if err != nil || d == nil {
		return false, err
	}
	owned, err := l.admin.Owns(ctx, d)
	if err != nil {
		return false, err
	}
	if !owned {
		return false, fmt.Errorf("undo the drop of %s: %w: another program owns it", t, store.ErrRefused)
	}
	if err := l.records.changePhase(ctx, t, dropping, usable); err != nil {
		return false, err
	}
	if err = l.admin.SetProtection(ctx, t.Name(), true); err == nil {
		return true, nil
	}
	if d, derr := l.describeRemaining(ctx, t); derr == nil && d == nil { // the deletion began before
		return false, l.records.changePhase(ctx, t, usable, dropping)
	}
	return false, err
}

// describeRemaining describes a table. It returns nil if the table is missing or is being deleted.
func (l *Lifecycle) describeRemaining(ctx context.Context, t grid.Table) (*types.TableDescription, error) {
	d, err := l.admin.Describe(ctx, t.Name())
	if client.IsNoTable(err) || err == nil && d.TableStatus == types.TableStatusDeleting {
		return nil, nil
	}
	return d, err
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

// CompleteDrops implements store.DropCompleter. It deletes the records of interrupted drops whose tables
// are deleted. Such a record would make a later table of another program look like an owned one. The record
// of a lost table stays, because AcceptLoss deletes it.
func (l *Lifecycle) CompleteDrops(ctx context.Context) error {
	records, err := l.records.readAll(ctx)
	if err != nil {
		return err
	}
	for name, r := range records {
		t, ok := grid.Parse(name)
		if !ok || r.Phase != dropping || !r.Lost.IsZero() {
			continue
		}
		err := l.admin.Exists(ctx, name)
		if client.IsNoTable(err) {
			err = ignoreCondition(l.items.Delete(ctx, recordKey(t), sameVersion(r.Version)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
