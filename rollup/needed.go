package rollup

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/store"
)

// latePK is the partition of the notes on late days.
const latePK = "ROLLUP#LATE"

const (
	// lateDay is by how many days readings are late of whose day a table may be
	// dropped: tables are kept for two days beyond their ranges.
	lateDay = 2
	// lateFor is how long after a day of arrival it may be counted anew.
	lateFor = 2 * 24 * time.Hour
)

// lateDays are the days of event time and of arrival that were noted in a run.
//
// Readings that come again are not counted again as long as the table is there
// where they came first. Their hours may be counted anew whenever another reading
// of them arrives on the same day: so for that day, and a while longer, the table
// must stay, although no mark is left.
type lateDays struct {
	mu    sync.Mutex
	noted map[[2]int64]bool
}

func (l *lateDays) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noted = map[[2]int64]bool{}
}

// note notes that readings of a day arrived on another, if they were late.
func (l *lateDays) note(ctx context.Context, items store.Items, day, arrival int64) error {
	if day > arrival-lateDay {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noted[[2]int64{day, arrival}] {
		return nil
	}
	err := items.Put(ctx, store.Item{
		Key:     store.Key{PK: latePK, SK: dayText(day) + "#" + dayText(arrival)},
		Expires: Daily.start(arrival + 1).Add(lateFor),
	})
	if err == nil {
		l.noted[[2]int64{day, arrival}] = true
	}
	return err
}

// Needed returns what says of a table why it must not be dropped: hours are yet
// to be counted from it, or may be again; "" if none are. A table is needed for
// what arrived in later months, too: it tells which of that had come before.
func (w *Worker) Needed(ctx context.Context) (func(bucket.Table) string, error) {
	type part struct {
		day   int64
		month bucket.Month
	}
	needed := map[part]bool{}
	add := func(day, arrival int64) { needed[part{day, bucket.MonthOf(Daily.start(arrival))}] = true }
	for i := range shards {
		err := w.each(ctx, store.ItemQuery{Index: store.GSI1, PK: dirty(i)}, func(it *store.Item) error {
			_, m, err := parseMark(it.Key)
			add(m.day(), m.arrival)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("marks of roll-ups: %w", err)
		}
	}
	err := w.each(ctx, store.ItemQuery{PK: latePK, Consistent: true}, func(it *store.Item) error {
		day, arrival, err := parseKey("D#" + it.SK)
		add(day, arrival)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("late days of roll-ups: %w", err)
	}
	return func(t bucket.Table) string {
		var days []string
		for p := range needed {
			if t.Month <= p.month && t.Overlaps(varve.Window{From: Daily.start(p.day), To: Daily.start(p.day + 1)}) {
				days = append(days, Daily.start(p.day).Format(time.DateOnly))
			}
		}
		if len(days) == 0 {
			return ""
		}
		return "roll-ups may still have to be counted from it: of " + some(days)
	}, nil
}

// some writes the first of some days.
func some(days []string) string {
	first := days[0]
	for _, d := range days {
		first = min(first, d)
	}
	if len(days) == 1 {
		return first
	}
	return strings.Join([]string{first, "and", fmt.Sprint(len(days) - 1), "more days"}, " ")
}
