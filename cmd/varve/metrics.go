package main

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/varvedb/varve/cloudwatch"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/local"
)

// publish writes metrics for CloudWatch until stop is called, if they are
// wanted. What it returns first counts verdicts.
func (a *app) publish(ctx context.Context, c *config.Config, e *engine.Engine, log zerolog.Logger) (judged func(readings, rejected int), stop func()) {
	if !c.Metrics.CloudWatch {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := cloudwatch.New(cloudwatch.Options{
		Out: a.out, Deployment: c.Tables.Prefix, Now: now, Health: e.Rotator.Health, Backlog: backlog(ctx, e),
	})
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

// backlogWithin bounds the time that counting the backlog takes.
const backlogWithin = 10 * time.Second

// backlog counts the marks that wait for their roll-up; while that cannot be
// done, it is what it was.
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

// registerDisk adds the room on a data folder's disk to the metrics; NaN: it
// cannot be told.
func registerDisk(reg *prometheus.Registry, dir string) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "varve_disk_free_bytes", Help: "What the data folder's disk has free.",
	}, func() float64 {
		free, err := local.Free(dir)
		if err != nil {
			return math.NaN()
		}
		return float64(free)
	}))
}
