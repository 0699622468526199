package rollup

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
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

// CountedFor is for how long what arrived before a time may have to be counted
// anew, unless it is marked: its day ends, and for two days more there are writers
// that take it for their own.
const CountedFor = 3 * 24 * time.Hour

// Needed returns what says of a retired table why it must not be dropped: hours
// are yet to be counted from it; "" if none are. It is needed for what arrived in
// later months, too, as it tells what of that had come before; but only for what
// arrived until it was retired. Of what came later, partials tell whether it had
// come before.
func (w *Worker) Needed(ctx context.Context) (func(t grid.Table, retired time.Time) string, error) {
	type part struct{ day, arrival int64 }
	needed := map[part]bool{}
	for i := range shards {
		err := w.each(ctx, store.ItemQuery{Index: store.GSI1, PK: dirty(i)}, func(it *store.Item) error {
			_, m, err := parseMark(it.Key)
			needed[part{m.day(), m.arrival}] = true
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("marks of roll-ups: %w", err)
		}
	}
	return func(t grid.Table, retired time.Time) string {
		first, days := int64(0), 0
		last := dayOf(retired.Unix())
		for p := range needed {
			of := varve.Window{From: Daily.start(p.day), To: Daily.start(p.day + 1)}
			if p.arrival > last || t.Month > grid.MonthOf(Daily.start(p.arrival)) || !t.Overlaps(of) {
				continue
			}
			if days == 0 || p.day < first {
				first = p.day
			}
			days++
		}
		if days == 0 {
			return ""
		}
		return "roll-ups have yet to be counted from it: " + some(first, days)
	}, nil
}

// some describes some days by the first of them.
func some(first int64, days int) string {
	text := "of " + Daily.start(first).Format(time.DateOnly)
	if days > 1 {
		text += fmt.Sprintf(" and %d more", days-1)
	}
	return text
}
