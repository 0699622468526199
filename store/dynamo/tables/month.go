package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/client"
	"github.com/varvedb/varve/store/dynamo/items"
	"github.com/varvedb/varve/store/dynamo/template"
)

// The registry has one item per table that was used in the last month.
//
//	CONSUMED_DAYS  TABLE  days  {DAY:{"r":…,"w":…}}
const (
	daysPK   = "CONSUMED_DAYS"
	daysAttr = "days"
)

// monthDays is the number of full days whose use determines the capacity of a cold table.
const monthDays = 30

// dailyUse is the use of a table by all processes, by day. A day has the peak of its hours.
type dailyUse map[int64]client.Units

func dayOf(t time.Time) int64 { return t.Unix() / (24 * 3600) }

// addHours adds the peaks of full hours, and reports whether that has changed a day. It removes
// days that are too old to count.
func (d dailyUse) addHours(hours map[int64]client.Units, now time.Time) (changed bool) {
	maps.DeleteFunc(d, func(day int64, _ client.Units) bool { return day < dayOf(now)-monthDays })
	for hour, u := range hours {
		day := hour / 24
		if hour >= hourOf(now) || day < dayOf(now)-monthDays {
			continue
		}
		if peak := larger(d[day], u); peak != d[day] {
			d[day], changed = peak, true
		}
	}
	return changed
}

// peakOfCold returns the largest use of a cold table in the last month. It leaves out the writes until
// the end of the first day after the table's arrival month, because a sealed table receives no readings.
// By default, a table is sealed an hour after that month.
func (d dailyUse) peakOfCold(t grid.Table, now time.Time) (peak client.Units) {
	writesFrom := dayOf(t.Month.End()) + 1 // the first day whose writes count
	for day, u := range d {
		if day < dayOf(now)-monthDays {
			continue
		}
		if day < writesFrom {
			u.Write = 0
		}
		peak = larger(peak, u)
	}
	return peak
}

// item returns the item of a table. It expires when its newest day is too old to count.
func (d dailyUse) item(table string) (store.Item, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return store.Item{}, fmt.Errorf("encode daily use of %s: %w", table, err)
	}
	newest := slices.Max(slices.Collect(maps.Keys(d)))
	return store.Item{
		Key: store.Key{PK: daysPK, SK: table}, Expires: time.Unix((newest+monthDays+1)*24*3600, 0),
		Attrs: map[string]varve.Value{daysAttr: varve.StringValue(string(text))},
	}, nil
}

func parseDailyUse(it *store.Item) (dailyUse, error) {
	d := dailyUse{}
	if err := json.Unmarshal([]byte(it.Attrs[daysAttr].Text()), &d); err != nil {
		return nil, fmt.Errorf("daily use of tables in the registry: item %s of %s: %w", it.SK, daysPK, err)
	}
	return d, nil
}

// month is the use of all tables in the last month, as this process has read it. It is safe for
// concurrent use.
type month struct {
	mu     sync.Mutex
	hour   int64 // hour of the last load, as its number since 1970
	tables map[string]dailyUse
}

// record adds the reported hours to the registry, at most once an hour. It returns the use of all
// tables, and whether it has read the registry. Several processes may call it, because a repeated call
// changes nothing.
func (m *month) record(ctx context.Context, registry *items.Items, hours map[string]map[int64]client.Units, now time.Time) (map[string]dailyUse, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hour == hourOf(now) {
		return m.tables, false, nil
	}
	all := map[string]dailyUse{}
	err := eachItem(ctx, registry, daysPK, func(it *store.Item) (err error) {
		all[it.SK], err = parseDailyUse(it)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for table, peaks := range hours {
		days := all[table]
		if days == nil {
			days = dailyUse{}
		}
		if !days.addHours(peaks, now) {
			continue
		}
		all[table] = days
		it, err := days.item(table)
		if err != nil {
			return nil, false, err
		}
		if err := registry.Put(ctx, it); err != nil {
			return nil, false, fmt.Errorf("record daily use of %s: %w", table, err)
		}
	}
	m.tables, m.hour = all, hourOf(now)
	return all, true, nil
}

func eachItem(ctx context.Context, registry *items.Items, pk string, f func(*store.Item) error) error {
	q := store.ItemQuery{PK: pk, Consistent: true}
	for {
		page, err := registry.Query(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := f(&page.Items[i]); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

// coldCapacity returns the capacity of a cold table for its largest use in a month. The use is the share
// targetUse of this capacity, unless a limit applies.
func coldCapacity(peak client.Units, lim capacities) template.Capacity {
	units := func(u float64, least, most int64) int64 {
		return int64(min(max(math.Ceil(u/targetUse), float64(least)), float64(most)))
	}
	return template.Capacity{
		Read:  units(peak.Read, lim.least.Read, lim.most.Read),
		Write: units(peak.Write, lim.least.Write, lim.most.Write),
	}
}

// sealedCapacity returns the capacity of a table that becomes cold. It returns false if the reports do
// not cover enough hours, because the use of the table is then unknown.
func (l *Lifecycle) sealedCapacity(ctx context.Context, t grid.Table, lim capacities) (c template.Capacity, known bool, err error) {
	needs, err := readDemand(ctx, l.items, l.now())
	if err != nil || !needs.isComplete {
		return c, false, err
	}
	days := dailyUse{}
	it, err := l.items.GetOne(ctx, store.Key{PK: daysPK, SK: t.Name()})
	if err != nil {
		return c, false, err
	}
	if it != nil {
		if days, err = parseDailyUse(it); err != nil {
			return c, false, err
		}
	}
	days.addHours(needs.hours[t.Name()], l.now()) // adds the hours that are not yet recorded
	peak := days.peakOfCold(t, l.now())
	peak.Read = max(peak.Read, needs.now[t.Name()].Read)
	return coldCapacity(peak, lim), true, nil
}
