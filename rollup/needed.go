package rollup

import (
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/store"
)

// Needed returns what says of a table why it must not be dropped: there are marks
// whose hours are yet to be counted from it; "" if none is. Readings that arrived
// before a mark's day count as well: they are what tells which of its readings
// came again.
func (w *Worker) Needed(ctx context.Context) (func(bucket.Table) string, error) {
	type part struct {
		day   int64
		month bucket.Month
	}
	waiting := map[part]int{}
	for i := range shards {
		err := w.each(ctx, store.ItemQuery{Index: store.GSI1, PK: dirty(i)}, func(it *store.Item) error {
			_, m, err := parseMark(it.Key)
			if err == nil {
				waiting[part{m.day(), bucket.MonthOf(Daily.start(m.arrival))}]++
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("marks of roll-ups: %w", err)
		}
	}
	return func(t bucket.Table) string {
		marks := 0
		for p, n := range waiting {
			if t.Month <= p.month && t.Overlaps(varve.Window{From: Daily.start(p.day), To: Daily.start(p.day + 1)}) {
				marks += n
			}
		}
		if marks == 0 {
			return ""
		}
		return fmt.Sprintf("roll-ups are still to be counted from it: %d marks", marks)
	}, nil
}
