// Package cloudwatch writes metrics for Amazon CloudWatch in its Embedded Metric Format.
//
//	readings, rotations, deliveries ──▶ Publisher ── a line of JSON a minute ──▶ log ──▶ CloudWatch
//
// A [Publisher] counts readings between two lines, and asks its [Options] for the other numbers. It
// writes a line every minute, which CloudWatch extracts from the logs of the program. So the
// publisher calls no service, and needs no permission.
//
// If a line cannot be written, [Publisher.Run] ends with the error. The counts of a process that
// dies are lost since its last line. A Publisher is safe for concurrent use.
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

// Namespace is the namespace of all metrics.
const Namespace = "Varve"

// DimensionDeployment is the only dimension: the setting tables.prefix.
const DimensionDeployment = "Deployment"

// Names of the metrics. Readings, ReadingsRejected and DeliveriesFailed count since the last
// publication.
const (
	// RotationSuccess is 1 for a minute with a successful rotation, and 0 for other minutes. After
	// each time of the setting retention.schedule, at least one process of a healthy deployment
	// publishes 1.
	RotationSuccess = "RotationSuccess"
	// TablesReadyAhead is the share of the required tables of later months that exist after a
	// rotation, from 0 to 1. In minutes without a rotation it is not published. Otherwise, old values
	// of one process could hide a new value of another process.
	TablesReadyAhead = "TablesReadyAhead"
	// Readings is the number of submitted readings.
	Readings = "Readings"
	// ReadingsRejected is the number of rejected readings.
	ReadingsRejected = "ReadingsRejected"
	// RollupBacklog is the number of due dirty markers.
	RollupBacklog = "RollupBacklog"
	// DeliveriesFailed is the number of messages about alerts that failed and are not retried.
	DeliveriesFailed = "DeliveriesFailed"
	// DeliveryAge is the age in seconds of the oldest pending message about an alert.
	// One process delivers at a time, and the others publish 0.
	DeliveryAge = "DeliveryAge"
)

// Every is the interval between publications.
const Every = time.Minute

// Options configure a publisher. All but Backlog and Deliveries are required.
type Options struct {
	Out        io.Writer // receives one line for each publication
	Deployment string
	Now        func() time.Time
	Health     func() rotator.Health
	// Backlog, if not nil, returns the number of due dirty markers.
	Backlog func() float64
	// Deliveries counts the failed messages about alerts since the start of the process. Failed attempts
	// that are retried do not count. Deliveries also returns when the oldest pending message was queued.
	// If nil, the metrics of deliveries are not published.
	Deliveries func() (failed int64, oldest time.Time)
}

// Publisher publishes metrics. It is safe for concurrent use.
type Publisher struct {
	opts Options

	mu                 sync.Mutex
	readings, rejected int            // counts since the last publication
	seen               rotator.Health // health of the rotator at the last publication
	failed             int64          // number of failed messages at the last publication
}

// New returns a publisher that has counted no readings.
func New(o Options) *Publisher {
	if o.Backlog == nil {
		o.Backlog = func() float64 { return 0 }
	}
	return &Publisher{opts: o}
}

// Judged adds to the counts of submitted and rejected readings.
func (p *Publisher) Judged(readings, rejected int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readings += readings
	p.rejected += rejected
}

// Run publishes at each tick, and once more when the context ends. If a line cannot be written, Run
// returns the error.
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

// Publish writes one line with the metrics, and resets the counts.
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

// metric is the declaration of a metric in the Embedded Metric Format.
type metric struct {
	Name string
	Unit string `json:",omitempty"`
}

// document returns the content of one line: the declared metrics and their values.
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
	if p.opts.Deliveries != nil {
		failed, oldest := p.opts.Deliveries()
		add(DeliveriesFailed, "Count", float64(failed-p.failed))
		age := 0.0
		if !oldest.IsZero() {
			age = max(0, p.opts.Now().Sub(oldest).Seconds())
		}
		add(DeliveryAge, "Seconds", age)
		p.failed = failed
	}
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
