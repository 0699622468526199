package rollup

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// maxShardBacklog limits the number of markers that Backlog counts in each partition.
const maxShardBacklog = 1000

// Backlog returns the number of due markers. It stops counting at maxShardBacklog markers in
// each partition.
func (g *Aggregator) Backlog(ctx context.Context) (int, error) {
	due := fmt.Sprintf("%010d", g.now().Add(-markerGrace).Unix())
	total := 0
	for i := range markerShards {
		q := store.ItemQuery{Index: store.GSI1, PK: markerPartition(i), To: due, Limit: pageMarkers}
		for n := 0; n < maxShardBacklog; {
			page, err := g.items.Query(ctx, q)
			if err != nil {
				return total, fmt.Errorf("due markers: %w", err)
			}
			total, n = total+len(page.Items), n+len(page.Items)
			if !page.More {
				break
			}
			q.After = &page.Items[len(page.Items)-1]
		}
	}
	return total, nil
}

// TablesInUse returns a function that reports why roll-ups still need a retired table. The function
// returns "" if they do not need the table.
//
// A table is in use while one of its hours is dirty because of readings that arrived in the table's
// month or later. The aggregator needs the table to find out which of those readings are copies of
// readings in the table. Readings that arrived after the day of the retirement do not matter:
// partials show which of them are copies.
func (g *Aggregator) TablesInUse(ctx context.Context) (func(t grid.Table, retired time.Time) string, error) {
	dirty, err := g.dirtyDays(ctx)
	if err != nil {
		return nil, err
	}
	return func(t grid.Table, retired time.Time) string {
		first, days := int64(0), 0
		last := dayOf(retired.Unix())
		for d := range dirty {
			of := varve.Window{From: Daily.start(d.day), To: Daily.start(d.day + 1)}
			if d.arrival > last || t.Month > grid.MonthOf(Daily.start(d.arrival)) || !t.Overlaps(of) {
				continue
			}
			if days == 0 || d.day < first {
				first = d.day
			}
			days++
		}
		if days == 0 {
			return ""
		}
		return "roll-ups have yet to be counted from it: " + describeDays(first, days)
	}, nil
}

// ReadingsInUse returns a function of a table. The result of that function reports whether roll-ups
// still need the table's readings of a given event time. This is more precise than TablesInUse:
// only the readings of dirty days are in use.
func (g *Aggregator) ReadingsInUse(ctx context.Context) (func(grid.Table) func(event time.Time) bool, error) {
	dirty, err := g.dirtyDays(ctx)
	if err != nil {
		return nil, err
	}
	return func(t grid.Table) func(event time.Time) bool {
		days := map[int64]bool{}
		for d := range dirty {
			if t.Month <= grid.MonthOf(Daily.start(d.arrival)) {
				days[d.day] = true
			}
		}
		return func(event time.Time) bool { return days[dayOf(event.Unix())] }
	}, nil
}

// dirtyDay is a day of event time that has dirty hours, because of readings that arrived on one
// arrival day.
type dirtyDay struct{ day, arrival int64 }

func (g *Aggregator) dirtyDays(ctx context.Context) (map[dirtyDay]bool, error) {
	dirty := map[dirtyDay]bool{}
	for i := range markerShards {
		err := g.scanItems(ctx, store.ItemQuery{Index: store.GSI1, PK: markerPartition(i)}, func(it *store.Item) error {
			_, m, err := parseMarker(it.Key)
			dirty[dirtyDay{m.day(), m.arrival}] = true
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("dirty markers: %w", err)
		}
	}
	return dirty, nil
}

// describeDays describes days by the date of the first day and the number of further days.
func describeDays(first int64, days int) string {
	text := "of " + Daily.start(first).Format(time.DateOnly)
	if days > 1 {
		text += fmt.Sprintf(" and %d more", days-1)
	}
	return text
}
