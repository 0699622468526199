package rollup

import (
	"context"
	"fmt"
	"github.com/varvedb/varve/store"
	"maps"
	"time"
)

// write writes what was counted of a group. If all of its hours are counted now,
// so is the day, with the day's partials that are at rest; else these are nil.
//
// Hours of which there are only copies of readings that count elsewhere are
// written as well, empty: once what tells them from new readings is gone, nobody
// must take them for hours that were never counted. Hours of which there is
// nothing any more stay as they are: a table went when they were marked to be
// rebuilt, or nothing of them was ever stored.
func (w *Worker) write(ctx context.Context, g group, counted map[slot]*Partial, partials rest) error {
	maps.DeleteFunc(counted, func(_ slot, p *Partial) bool { return p.Readings == 0 && !p.again })
	var puts []store.Item
	for at, p := range counted {
		puts = append(puts, p.items(hourKey(g.series, at.hour, at.arrival), partBytes)...)
	}
	if partials != nil {
		sum, err := g.sum(counted, partials)
		if err != nil {
			return err
		}
		if sum.Readings > 0 || sum.again {
			puts = append(puts, sum.items(dayKey(g.series, g.day, g.arrival), partBytes)...)
		}
	}
	return w.items.PutAll(ctx, puts)
}

// sum adds up the hours of a group: those that were counted, and those at rest.
func (g group) sum(counted map[slot]*Partial, partials rest) (*Partial, error) {
	var sum tally
	for at, p := range partials {
		if at.arrival != g.arrival || counted[at] != nil {
			continue
		}
		if err := p.whole(); err != nil {
			return nil, fmt.Errorf("%s: %w", Hourly.start(at.hour).Format(time.RFC3339), err)
		}
		sum.merge(p)
	}
	for _, p := range counted {
		sum.merge(p)
	}
	return sum.result(), nil
}
