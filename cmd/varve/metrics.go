package main

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"github.com/varvedb/varve/cloudwatch"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/notify"
)

// publish writes metrics for CloudWatch until the returned function "stop" is called. The caller passes the
// numbers of verdicts to the returned function "judged". If the metrics are disabled, publish writes
// nothing, and "judged" is nil.
func (a service) publish(ctx context.Context, c *config.Config, e *engine.Engine, log zerolog.Logger) (judged func(readings, rejected int), stop func()) {
	if !c.Metrics.CloudWatch {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	o := cloudwatch.Options{Out: a.out, Deployment: c.Tables.Prefix, Now: now, Health: e.Rotator.Health, Backlog: backlog(ctx, e)}
	if e.Sender != nil {
		o.Deliveries = func() (int64, time.Time) { return undelivered(e.Sender) }
	}
	p := cloudwatch.New(o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(cloudwatch.Every)
		defer tick.Stop()
		if err := p.Run(ctx, tick.C); err != nil {
			log.Error().Err(err).Msg("CloudWatch metrics disabled")
		}
	}()
	return p.Judged, func() {
		cancel()
		<-done
	}
}

// backlogWithin bounds the time that counting the backlog takes.
const backlogWithin = 10 * time.Second

// backlog returns a function that counts the dirty markers. If the count fails, it
// returns the previous count.
func backlog(ctx context.Context, e *engine.Engine) func() float64 {
	last := 0
	return func() float64 {
		ctx, cancel := context.WithTimeout(ctx, backlogWithin)
		defer cancel()
		if n, err := e.Aggregator.Backlog(ctx); err == nil {
			last = n
		}
		return float64(last)
	}
}

// undelivered returns the number of messages that have failed permanently, and the time at which
// the oldest pending message was queued. The time is zero if no message is pending.
func undelivered(s *notify.Sender) (failed int64, oldest time.Time) {
	for _, one := range s.Stats() {
		failed += one.Failed
		if oldest.IsZero() || !one.Oldest.IsZero() && one.Oldest.Before(oldest) {
			oldest = one.Oldest
		}
	}
	return failed, oldest
}
