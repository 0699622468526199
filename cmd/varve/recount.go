package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/streams"
)

// The problems of roll-ups in the output of varve repair.
const (
	sayToRecount  = "roll-ups to recount from the stored readings"
	sayRecountOff = "roll-ups not recounted: rollups.enabled is false"
)

// planRecount returns the roll-ups that a repair would recount. For some damage, the affected keys
// are known only once the store is open. Until then, the damage may concern all series.
func planRecount(c *config.Config, lost []local.Loss, damaged bool) (list []wire.Damage) {
	// Ignore an error of ReadRecorded, because CheckFolder has reported it.
	if recorded, err := local.ReadRecorded(c.Store.Dir); err == nil {
		lost = append(lost, recorded.Unrecounted...)
	}
	ranges := lostKeysOf(lost)
	if damaged && !slices.ContainsFunc(lost, func(l local.Loss) bool { return !l.Harmless }) {
		ranges = append(ranges, rollup.LostKeys{}) // a damaged journal or list of files may concern any series
	}
	for _, g := range ranges {
		d := wire.Damage{Place: "series" + between(g.Series()), Problem: sayToRecount}
		if gone := droppedBefore(c); !gone.IsZero() {
			d.Losses = []string{"roll-ups of events before " + gone.Format(time.RFC3339) + ", if their readings were dropped"}
		}
		if g == (rollup.LostKeys{}) {
			d.Place = "all series"
		}
		if !slices.ContainsFunc(list, func(o wire.Damage) bool { return o.Place == d.Place }) {
			list = append(list, d)
		}
	}
	return list
}

// lostKeysOf returns the ranges of lost items that may contain roll-ups.
func lostKeysOf(lost []local.Loss) (ranges []rollup.LostKeys) {
	for i := range lost {
		if l := &lost[i]; l.Items && !l.Index {
			if g := (rollup.LostKeys{First: l.FirstItem, Last: l.LastItem}); g.HasRollups() {
				ranges = append(ranges, g)
			}
		}
	}
	return ranges
}

// droppedBefore returns the event time before which tables may have been dropped, or zero if no
// table can have been dropped.
func droppedBefore(c *config.Config) time.Time {
	least := time.Duration(math.MaxInt64)
	for _, class := range c.Policy().Classes {
		least = min(least, class.Retention)
	}
	if !c.Retention.Drop || least >= retention.Forever {
		return time.Time{}
	}
	return now().Add(-least).UTC().Truncate(time.Second)
}

// recountRollups recounts the roll-ups that were lost, and returns a line for each series with such
// roll-ups. If roll-ups are disabled, it recounts none, and returns one line for all series.
func recountRollups(ctx context.Context, c *config.Config, s *local.Store, losses []local.Loss) (list []wire.Damage, err error) {
	ranges := lostKeysOf(s.Unrecounted())
	if len(ranges) > 0 && !c.Rollups.Enabled {
		return []wire.Damage{{Place: "all series", Problem: sayRecountOff}}, s.Recounted(ctx)
	}
	if len(ranges) > 0 {
		if list, err = repairSeries(ctx, c, s, ranges, losses); err != nil {
			return list, fmt.Errorf("recount roll-ups: %w", err)
		}
	}
	return list, s.Recounted(ctx)
}

func repairSeries(ctx context.Context, c *config.Config, s *local.Store, ranges []rollup.LostKeys, losses []local.Loss) (list []wire.Damage, err error) {
	all, err := seriesOf(ctx, s)
	if err != nil {
		return nil, err
	}
	source := query.New(query.Options{Reader: s, Catalog: s, Streams: streams.New(s, now), Policy: c.Policy(), Now: now, Layouts: c.Layouts()})
	aggregator := rollup.NewAggregator(rollup.AggregatorOptions{Items: s, Source: source, Now: now, Holder: "embedded", Resent: c.Resent()})
	for _, series := range all {
		done, err := aggregator.Repair(ctx, series, ranges, goneOf(c, series, losses))
		if err != nil {
			return list, err
		}
		if done.Hours+done.Days+len(done.Lost) == 0 {
			continue
		}
		d := wire.Damage{Place: series.String(), Problem: fmt.Sprintf("roll-ups recounted: %s, %s", count(done.Hours, "hour"), count(done.Days, "day"))}
		for _, w := range done.Lost {
			d.Losses = append(d.Losses, lostRollups(w))
		}
		list = append(list, d)
	}
	return list, nil
}

// lostRollups describes the event times whose roll-ups may lack readings.
func lostRollups(w varve.Window) string {
	if w.From.Equal(varve.AllTime().From) {
		return "roll-ups of events before " + w.To.Format(time.RFC3339) + ", if their readings are gone"
	}
	return fmt.Sprintf("roll-ups of events from %s to %s: their readings are gone", w.From.Format(time.RFC3339), w.To.Format(time.RFC3339))
}

// seriesOf returns the series that have readings or roll-ups, in order.
func seriesOf(ctx context.Context, s *local.Store) ([]varve.Series, error) {
	list, err := s.ChunkSeries(ctx)
	if err != nil {
		return nil, err
	}
	partitions, err := s.Partitions(ctx, rollup.SeriesPrefix())
	if err != nil {
		return nil, err
	}
	for _, pk := range partitions {
		if series, ok := rollup.ParseSeries(pk); ok {
			list = append(list, series)
		}
	}
	slices.SortFunc(list, varve.Series.Compare)
	return slices.Compact(list), nil
}

// goneOf returns the event times of a series whose readings may be gone, because tables were
// dropped or because of the damage itself.
func goneOf(c *config.Config, s varve.Series, losses []local.Loss) (gone []varve.Window) {
	if before := droppedBefore(c); !before.IsZero() {
		gone = append(gone, varve.Window{From: varve.AllTime().From, To: before})
	}
	for i := range losses {
		l := &losses[i]
		if l.Items || l.Catalog || l.Harmless || l.Journal || l.Number == 0 && l.Table == "" {
			continue
		}
		if l.First != (varve.Series{}) && s.Compare(l.First) < 0 || l.Last != (varve.Series{}) && s.Compare(l.Last) > 0 {
			continue
		}
		w := varve.Window{From: l.From, To: l.To}
		if l.From.IsZero() {
			w = varve.AllTime()
			if t, ok := grid.Parse(l.Table); ok {
				w = t.Window()
			}
		}
		gone = append(gone, w)
	}
	return gone
}

func mayContainKeys(l local.Loss) bool {
	rollups := rollup.SeriesPrefix()
	return l.Journal || l.Items && !l.Index && !(strings.HasPrefix(l.FirstItem.PK, rollups) && strings.HasPrefix(l.LastItem.PK, rollups))
}
