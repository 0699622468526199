package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/kinesis"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/ingest/sqs"
)

// consumers are the configured consumers of queues and streams of AWS.
type consumers struct {
	c       *config.Config
	e       *engine.Engine
	log     zerolog.Logger
	metrics *prometheus.Registry
	running []interface{ Close() }
}

func (s *consumers) start(ctx context.Context, served *api.Server) error {
	if s.c.Ingest.Kinesis.Name != "" {
		if err := s.startKinesis(ctx, served.NewKinesisReceiver()); err != nil {
			return err
		}
	}
	if s.c.Ingest.SQS.Queue != "" {
		return s.startSQS(ctx, served.NewSQSReceiver())
	}
	return nil
}

// stop stops the consumers. Records that were received are stored, if the store answers in time.
func (s *consumers) stop() {
	for _, one := range s.running {
		one.Close()
	}
}

// failed returns a callback that logs the failures of a consumer. In an outage, it logs at intervals only.
func (s *consumers) failed(source, name string) func(error, time.Duration) {
	failures := newFailures(s.log, now)
	return func(err error, retry time.Duration) {
		if leftOut, due := failures.due(source); due {
			counted(s.log.Warn().Err(err).Str("source", source).Str("name", name).Stringer("retry", retry), leftOut).Msg("records not read or not stored, retrying")
		}
	}
}

func (s *consumers) startKinesis(ctx context.Context, r *records.Receiver) error {
	k := &s.c.Ingest.Kinesis
	target, err := k.Target()
	if err != nil {
		return err
	}
	client, err := kinesis.NewClient(ctx, k.Name, consumer.Connection{Region: k.Region, Endpoint: k.Endpoint})
	if err != nil {
		return err
	}
	s.running = append(s.running, kinesis.Start(kinesis.Options{
		Client: client, Stream: k.Name, Items: s.e.Store, Holder: s.e.Holder, Receiver: r, Target: target,
		Metrics: consumer.NewMetrics(s.metrics, "kinesis"), Now: s.e.Now, Conditions: s.e.Conditions, Failed: s.failed("kinesis", k.Name),
	}))
	s.log.Info().Str("source", "kinesis").Str("name", k.Name).Msg("consumer started")
	return nil
}

func (s *consumers) startSQS(ctx context.Context, r *records.Receiver) error {
	q := &s.c.Ingest.SQS
	target, err := q.Target()
	if err != nil {
		return err
	}
	client, err := sqs.NewClient(ctx, q.Queue, consumer.Connection{Region: q.Region, Endpoint: q.Endpoint})
	if err != nil {
		return err
	}
	s.running = append(s.running, sqs.Start(sqs.Options{
		Client: client, Queue: q.Queue, Receivers: q.Receivers, Receiver: r, Target: target,
		Metrics: consumer.NewMetrics(s.metrics, "sqs"), Now: s.e.Now, Conditions: s.e.Conditions, Failed: s.failed("sqs", q.Queue),
	}))
	s.log.Info().Str("source", "sqs").Str("name", q.Queue).Msg("consumer started")
	return nil
}
