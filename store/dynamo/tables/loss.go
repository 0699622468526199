package tables

import (
	"context"
	"errors"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
)

// AcceptLoss records that the loss of a deleted table is known. After that, coverage does not report
// the table as missing. If the table is not lost, nothing changes.
func (l *Lifecycle) AcceptLoss(ctx context.Context, t grid.Table) error {
	defer l.records.lists.Clear()
	for try := 0; ; try++ {
		if err := client.Pause(ctx, try); err != nil {
			return err
		}
		r, err := l.records.read(ctx, t)
		if err != nil || r == nil {
			return err
		}
		err = l.admin.Exists(ctx, t.Name())
		if err != nil && !client.IsNoTable(err) {
			return err
		}
		switch {
		case err != nil && (r.Phase == usable || !r.Lost.IsZero()):
			err = l.items.Delete(ctx, recordKey(t), sameVersion(r.Version))
		case err == nil && !r.Lost.IsZero():
			r.Lost = time.Time{}
			err = l.records.replace(ctx, t, r)
		default:
			return nil
		}
		if !errors.Is(err, store.ErrCondition) {
			return errors.Join(err, l.records.changeVersion(ctx))
		}
	}
}
