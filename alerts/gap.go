package alerts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/registry"
)

const (
	// NoGap is the gap of a rule whose episodes no gap ends.
	NoGap time.Duration = -1
	// DefaultGap is the gap of a rule that was made without one, before there were
	// readings to measure it by: ten times a day.
	DefaultGap = 10 * 24 * time.Hour
	// gapIntervals is how many usual intervals make a gap.
	gapIntervals = 10

	leastGap = time.Second
	maxGap   = 5 * 365 * 24 * time.Hour
)

// gap returns after how long a time between two readings an episode has ended;
// 0 means never.
func (r *Rule) gap() time.Duration { return max(r.Gap, 0) }

const (
	// sampledFor is how far the readings go back by which a gap is measured.
	sampledFor = 31 * 24 * time.Hour
	// sampledDevices is of how many devices readings are asked for, and
	// sampledSeries how many series are enough.
	sampledDevices = 20
	sampledSeries  = 5
	// sampledReadings is how many readings of a series are enough.
	sampledReadings = 21
)

// measureGap sets the gap of a rule that was made without one: ten times the
// median interval between the last readings of some devices, to the second.
func (m *Monitor) measureGap(ctx context.Context, r *Rule) error {
	if r.Kind != OnValue || r.Gap != 0 {
		return nil
	}
	series, err := m.sampledSeries(ctx, r)
	if err != nil {
		return err
	}
	var intervals []time.Duration
	for _, s := range series {
		of, err := m.intervals(ctx, r, s)
		if err != nil {
			return fmt.Errorf("read readings of device %s, stream %s: %w", s.Device, s.Stream, err)
		}
		if len(of) > 0 {
			intervals = append(intervals, of...)
			if len(intervals) >= sampledSeries*(sampledReadings-1) {
				break
			}
		}
	}
	r.Gap, r.GapMeasured = gapOf(intervals), true
	return nil
}

// gapOf returns ten times the median, rounded up to the second.
func gapOf(intervals []time.Duration) time.Duration {
	if len(intervals) == 0 {
		return DefaultGap
	}
	slices.Sort(intervals)
	usual := intervals[len(intervals)/2]
	if usual > maxGap/gapIntervals {
		return maxGap
	}
	return max(leastGap, (gapIntervals*usual + time.Second - 1).Truncate(time.Second))
}

// sampledSeries returns series that a rule is about: of its device, or of those
// that were seen last.
func (m *Monitor) sampledSeries(ctx context.Context, r *Rule) (series []varve.Series, err error) {
	if r.Device != "" {
		streams := []string{r.Stream}
		if r.Stream == "" {
			if streams, err = m.opts.Source.StreamsOf(ctx, r.Tenant, r.Device); err != nil {
				return nil, fmt.Errorf("read the streams of device %s: %w", r.Device, err)
			}
		}
		for _, stream := range streams {
			series = append(series, varve.Series{Tenant: r.Tenant, Stream: stream, Device: r.Device})
		}
		return series, nil
	}
	page, err := m.opts.Devices.List(ctx, devices.Query{Tenant: r.Tenant, Status: devices.Active, Limit: registry.MaxLimit})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(page.Items, func(a, b devices.Device) int { return b.LastSeenAt.Compare(a.LastSeenAt) })
	for i := range page.Items[:min(len(page.Items), sampledDevices)] {
		series = append(series, varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: page.Items[i].Device})
	}
	return series, nil
}

// intervals returns the times between the last readings of a series that have
// the rule's field.
func (m *Monitor) intervals(ctx context.Context, r *Rule, s varve.Series) (all []time.Duration, err error) {
	now := m.opts.Now()
	w := varve.Window{From: now.Add(-sampledFor), To: now.Add(lease.MaxClockSkew)}
	var next time.Time
	n := 0
	err = m.opts.Source.Read(ctx, s, w, varve.Descending, func(one *varve.Reading) bool {
		if _, counts := r.meets(one.Field(r.Field)); !counts {
			return true
		}
		if d := next.Sub(one.Time); n > 0 && d > 0 {
			all = append(all, d)
		}
		next = one.Time
		n++
		return n < sampledReadings
	})
	return all, err
}
