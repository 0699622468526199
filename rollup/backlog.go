package rollup

import (
	"context"
	"fmt"
	"github.com/varvedb/varve/store"
)

// backlogMost is up to how many marks are counted in each partition.
const backlogMost = 1000

// Backlog returns how many marks are due and wait for the worker: all of them,
// or very many.
func (w *Worker) Backlog(ctx context.Context) (int, error) {
	due := fmt.Sprintf("%010d", w.now().Add(-settled).Unix())
	n := 0
	for i := range shards {
		q := store.ItemQuery{Index: store.GSI1, PK: dirty(i), To: due, Limit: page}
		for some := 0; some < backlogMost; {
			found, err := w.items.Query(ctx, q)
			if err != nil {
				return n, fmt.Errorf("marks that are due: %w", err)
			}
			n, some = n+len(found.Items), some+len(found.Items)
			if !found.More {
				break
			}
			q.After = &found.Items[len(found.Items)-1]
		}
	}
	return n, nil
}
