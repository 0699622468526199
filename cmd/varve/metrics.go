package main

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve/cloudwatch"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
)

// publish writes metrics for CloudWatch until stop is called, if they are
// wanted. What it returns first counts verdicts.
func (a *app) publish(ctx context.Context, c *config.Config, e *engine.Engine, log zerolog.Logger) (judged func(readings, rejected int), stop func()) {
	if !c.Metrics.CloudWatch {
		return nil, func() {}
	}
	p := cloudwatch.New(cloudwatch.Options{Out: a.out, Deployment: c.Tables.Prefix, Now: now, Health: e.Rotator.Health})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(cloudwatch.Every)
		defer tick.Stop()
		if err := p.Run(ctx, tick.C); err != nil {
			log.Error().Err(err).Msg("no metrics for CloudWatch from now on")
		}
	}()
	return p.Judged, func() {
		cancel()
		<-done
	}
}
