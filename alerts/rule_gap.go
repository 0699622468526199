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
	// DefaultGap applies to a rule that sets no gap, if too few readings exist to measure
	// one. It suits daily readings.
	DefaultGap = 10 * 24 * time.Hour
	// gapIntervals is the factor by which a measured gap is longer than the median interval.
	gapIntervals = 10

	// sampledTime is the maximum age of the readings that are used to measure a gap.
	sampledTime = 31 * 24 * time.Hour
	// sampledDevices is the maximum number of devices whose readings are read.
	sampledDevices = 20
	// sampledSeries is the number of series that suffice for a measurement, if each of them has
	// sampledReadings samples.
	sampledSeries = 5
	// sampledReadings is the maximum number of samples of a series that are used.
	sampledReadings = 21
)

// gapMeter measures the gaps of rules that are added without a gap.
type gapMeter struct {
	source  Source
	devices *devices.Registry
	now     func() time.Time
}

// measure sets the gap of a rule without one. The gap is ten times the median interval between the last
// readings of some devices, rounded up to the second.
func (g *gapMeter) measure(ctx context.Context, r *Rule) error {
	if r.byReadings() == nil || r.Gap != 0 {
		return nil
	}
	series, err := g.seriesOf(ctx, r)
	if err != nil {
		return err
	}
	var intervals []time.Duration
	for _, s := range series {
		of, err := g.intervals(ctx, r, s)
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

// gapOf returns ten times the median of some intervals, rounded up to the second, but at least leastGap
// and at most maxGap. Without intervals, it returns DefaultGap.
func gapOf(intervals []time.Duration) time.Duration {
	if len(intervals) == 0 {
		return DefaultGap
	}
	slices.Sort(intervals)
	median := intervals[len(intervals)/2]
	if median > maxGap/gapIntervals {
		return maxGap
	}
	return max(leastGap, (gapIntervals*median + time.Second - 1).Truncate(time.Second))
}

// seriesOf returns series to which a rule applies. If the rule has no device, seriesOf lists the first
// page of active devices, and uses the listed devices that were seen last.
func (g *gapMeter) seriesOf(ctx context.Context, r *Rule) (series []varve.Series, err error) {
	if r.Device != "" {
		streams := []string{r.Stream}
		if r.Stream == "" {
			if streams, err = g.source.StreamsOf(ctx, r.Tenant, r.Device); err != nil {
				return nil, fmt.Errorf("read the streams of device %s: %w", r.Device, err)
			}
		}
		for _, stream := range streams {
			series = append(series, varve.Series{Tenant: r.Tenant, Stream: stream, Device: r.Device})
		}
		return series, nil
	}
	page, err := g.devices.List(ctx, devices.Query{Tenant: r.Tenant, Status: devices.Active, Limit: registry.MaxLimit})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(page.Items, func(a, b devices.Device) int { return b.LastSeenAt.Compare(a.LastSeenAt) })
	for i := range page.Items[:min(len(page.Items), sampledDevices)] {
		series = append(series, varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: page.Items[i].Device})
	}
	return series, nil
}

// intervals returns the durations between the last samples of a series. It reads at most sampledReadings
// samples, and omits durations of 0.
func (g *gapMeter) intervals(ctx context.Context, r *Rule, s varve.Series) (all []time.Duration, err error) {
	now := g.now()
	w := varve.Window{From: now.Add(-sampledTime), To: now.Add(lease.MaxClockSkew)}
	var next int64
	n := 0
	err = samplesOf(ctx, g.source, r, s).within(w, varve.Descending, func(one *sample) bool {
		if d := time.Duration(next - one.at.Time); n > 0 && d > 0 {
			all = append(all, d)
		}
		next = one.at.Time
		n++
		return n < sampledReadings
	})
	return all, err
}
