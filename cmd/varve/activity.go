package main

import (
	"context"
	"slices"
	"time"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/internal/plot"
)

// activityHours is the number of bars of a device, one for each hour. The other constants limit the
// time of all requests for bars, and the numbers of devices and streams. If a limit is exceeded, the
// list has no bars.
const (
	activityHours   = 24
	activityWithin  = 500 * time.Millisecond
	activityDevices = 200
	activityStreams = 8
)

// activity returns a text of bars for each device that sent readings during the last day. The bars are
// the numbers of readings per hour, from roll-ups. If the argument "stream" is not empty, other streams
// do not count.
//
// It returns nil if the output is not a table on a terminal, or if the counts are unknown or would take
// long to compute.
func (a pictures) activity(ctx context.Context, c *client.Client, stream string, devices []string) map[string]string {
	if a.screen == nil || a.output != "table" || len(devices) == 0 || len(devices) > activityDevices {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, activityWithin)
	defer cancel()
	streams := []string{stream}
	if stream == "" {
		list, err := c.Streams(ctx)
		if err != nil || len(list.Streams) > activityStreams {
			return nil
		}
		streams = nil
		for i := range list.Streams {
			streams = append(streams, list.Streams[i].Name)
		}
	}
	end := now().UTC().Truncate(time.Hour).Add(time.Hour)
	counts, ok := hourCounts(ctx, c, streams, devices, end)
	if !ok {
		return nil
	}
	bars := map[string]string{}
	for device, hours := range counts {
		bars[device] = plot.Spark(hours, a.style())
	}
	return bars
}

// hourCounts returns the numbers of readings per hour of devices in streams, for the day before end. It
// also reports whether all streams were counted.
func hourCounts(ctx context.Context, c *client.Client, streams, devices []string, end time.Time) (map[string][]float64, bool) {
	counts := map[string][]float64{}
	from := end.Add(-activityHours * time.Hour)
	for _, stream := range streams {
		answer, err := c.Aggregate(ctx, client.AggregateQuery{
			Stream: stream, Devices: devices, Step: "1h", Functions: []string{"numbers"}, Source: "rollups",
			From: from.Format(time.RFC3339), To: end.Format(time.RFC3339),
		})
		if err != nil {
			return nil, false
		}
		for i := range answer.Buckets {
			b := &answer.Buckets[i]
			at, err := time.Parse(time.RFC3339, b.Start)
			hour := int(at.Sub(from) / time.Hour)
			if err != nil || hour < 0 || hour >= activityHours {
				return nil, false
			}
			if counts[b.Device] == nil {
				counts[b.Device] = make([]float64, activityHours)
			}
			counts[b.Device][hour] += float64(b.Readings)
		}
	}
	return counts, true
}

// addActivity inserts a column with bars after the status of a list of devices. Without bars,
// it changes nothing.
func (g *listing) addActivity(bars map[string]string) {
	if len(bars) == 0 {
		return
	}
	at := slices.Index(g.header, "status") + 1
	g.header = slices.Insert(g.header, at, "last day")
	for i := range g.rows {
		g.rows[i] = slices.Insert(g.rows[i], at, bars[g.rows[i][0]])
	}
	g.optional = append(g.optional, "last day")
}
