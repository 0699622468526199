// Package cloudwatch writes metrics for Amazon CloudWatch: once a minute a line
// of JSON in its Embedded Metric Format, which CloudWatch takes out of a
// program's logs. So no call is made, and no permission needed.
package cloudwatch

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/varvedb/varve/rotator"
	"io"
	"sync"
	"time"
)

// Namespace is that of all metrics.
const Namespace = "Varve"

// DimensionDeployment is their one dimension: the setting tables.prefix.
const DimensionDeployment = "Deployment"

// The metrics.
const (
	// RotationSuccess is 1 for a minute in which a rotation succeeded, and 0
	// for others. Of the processes of a deployment, at least one says 1 as
	// often as retention.schedule says; a process that is gone says nothing.
	RotationSuccess = "RotationSuccess"
	// TablesReadyAhead is the share of the next month's tables that there are
	// after a rotation, 0 to 1. Minutes without a rotation have none: what a
	// process saw long ago would hide what another sees now.
	TablesReadyAhead = "TablesReadyAhead"
	// Readings is how many readings were submitted, and ReadingsRejected how
	// many of them were rejected.
	Readings         = "Readings"
	ReadingsRejected = "ReadingsRejected"
	// RollupBacklog is how many hours wait for their roll-up.
	RollupBacklog = "RollupBacklog"
)

// Every is how often metrics are published.
const Every = time.Minute

// Options are what a publisher works with. All but Backlog are required.
type Options struct {
	Out        io.Writer // gets one line for each time of publishing
	Deployment string
	Now        func() time.Time
	Health     func() rotator.Health
	// Backlog is how many hours wait for their roll-up; nil is none.
	Backlog func() float64
}

// Publisher publishes metrics. It is safe for concurrent use.
type Publisher struct {
	opts Options

	mu                 sync.Mutex
	readings, rejected int            // since the last time of publishing
	seen               rotator.Health // at that time
}

// New returns a publisher.
func New(o Options) *Publisher {
	if o.Backlog == nil {
		o.Backlog = func() float64 { return 0 }
	}
	return &Publisher{opts: o}
}

// Judged counts readings that got their verdicts.
func (p *Publisher) Judged(readings, rejected int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readings += readings
	p.rejected += rejected
}

// Run publishes at each tick, and once more when the context ends: what was
// counted since the last tick is not lost. It returns at the first line that
// cannot be written.
func (p *Publisher) Run(ctx context.Context, tick <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return p.Publish()
		case <-tick:
			if err := p.Publish(); err != nil {
				return err
			}
		}
	}
}

// Publish writes the metrics since the last time.
func (p *Publisher) Publish() error {
	line, err := json.Marshal(p.document())
	if err != nil {
		return fmt.Errorf("metrics for CloudWatch: %w", err)
	}
	if _, err := p.opts.Out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("metrics for CloudWatch: %w", err)
	}
	return nil
}

// metric is a metric as the format declares it.
type metric struct {
	Name string
	Unit string `json:",omitempty"`
}

// document is one line: what there is to measure, and the values beside it.
func (p *Publisher) document() map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	doc := map[string]any{DimensionDeployment: p.opts.Deployment}
	var metrics []metric
	add := func(name, unit string, value float64) {
		metrics = append(metrics, metric{name, unit})
		doc[name] = value
	}
	h := p.opts.Health()
	add(RotationSuccess, "Count", truth(!h.LastSuccess.Equal(p.seen.LastSuccess)))
	if !h.LastRun.Equal(p.seen.LastRun) && h.Ahead.Wanted > 0 {
		add(TablesReadyAhead, "", min(1, float64(h.Ahead.Existing)/float64(h.Ahead.Wanted)))
	}
	add(Readings, "Count", float64(p.readings))
	add(ReadingsRejected, "Count", float64(p.rejected))
	add(RollupBacklog, "Count", p.opts.Backlog())
	p.seen, p.readings, p.rejected = h, 0, 0
	doc["_aws"] = map[string]any{
		"Timestamp": p.opts.Now().UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": Namespace, "Dimensions": [][]string{{DimensionDeployment}}, "Metrics": metrics,
		}},
	}
	return doc
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
