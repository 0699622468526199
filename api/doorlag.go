package api

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// lagBounds are the upper bounds of the lag in the metric of doors, in ascending order.
var lagBounds = []time.Duration{
	time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// lags counts the lags of the readings of one batch or of one door.
type lags struct {
	counts [10]uint64 // one number for each of lagBounds, and one for longer lags
	sum    float64    // nanoseconds
}

// add counts a lag. The lag of a reading from the future counts as 0.
func (l *lags) add(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(lagBounds) && d > lagBounds[i] {
		i++
	}
	l.counts[i]++
	l.sum += float64(d)
}

// lagCollector counts the lags of stored readings by door. Unlike a histogram of Prometheus' library, it
// locks once for each batch. It implements prometheus.Collector.
type lagCollector struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	of   map[door]*lags
}

func newLagCollector() *lagCollector {
	return &lagCollector{
		desc: prometheus.NewDesc("varve_door_lag_seconds", "Time from the event of stored readings to their arrival, by door.", []string{"door"}, nil),
		of:   map[door]*lags{},
	}
}

func (c *lagCollector) addBatch(d door, b *wire.Batch) {
	var found lags
	for i := range b.Verdicts {
		if b.Verdicts[i].Outcome == varve.Stored {
			found.add(b.Readings[i].Arrived.Sub(b.Readings[i].Time))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.of[d]
	if l == nil {
		l = new(lags)
		c.of[d] = l
	}
	for i, n := range found.counts {
		l.counts[i] += n
	}
	l.sum += found.sum
}

// Describe implements prometheus.Collector.
func (c *lagCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c *lagCollector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for d, l := range c.of {
		buckets, n := map[float64]uint64{}, uint64(0)
		for i, bound := range lagBounds {
			n += l.counts[i]
			buckets[bound.Seconds()] = n
		}
		to <- prometheus.MustNewConstHistogram(c.desc, n+l.counts[len(lagBounds)], l.sum/float64(time.Second), buckets, string(d))
	}
}
