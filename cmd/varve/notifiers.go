package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/notify/mqtt"
	"github.com/varvedb/varve/notify/sns"
)

// targetsOf returns the notifiers of a configuration, sorted by name. It reads their secrets, and
// reports all mistakes.
func targetsOf(ctx context.Context, c *config.Config) (targets []notify.Target, err error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Notifiers)) {
		n := c.Notifiers[name]
		made, err := newNotifier(ctx, &n)
		if err != nil {
			errs = append(errs, fmt.Errorf("notifiers.%s: %w", name, err))
			continue
		}
		targets = append(targets, notify.Target{Name: name, Route: n.Route(), Notifier: made})
	}
	return targets, errors.Join(errs...)
}

func newNotifier(ctx context.Context, n *config.Notifier) (notify.Notifier, error) {
	secret, err := n.Secret()
	if err != nil {
		return nil, err
	}
	switch n.Kind {
	case "webhook":
		return notify.NewWebhook(n.URL, secret, now)
	case "alertmanager":
		return notify.NewAlertmanager(n.URL, secret, now)
	case "mqtt":
		return mqtt.New(mqtt.Options{URL: n.URL, Topic: n.Topic, User: n.User, Password: secret})
	case "sns":
		return sns.New(ctx, sns.Options{Topic: n.Topic, Endpoint: n.URL})
	default:
		return nil, fmt.Errorf("kind %q is unknown", n.Kind)
	}
}

func deliveryOf(ctx context.Context, c *config.Config, log zerolog.Logger) (engine.Notify, error) {
	targets, err := targetsOf(ctx, c)
	return engine.Notify{
		Targets: targets, URL: strings.TrimSuffix(c.Alerts.URL, "/"), Digest: c.Alerts.Digest,
		Ended: func(notifier string, m *notify.Message, err error) {
			if err != nil {
				log.Error().Err(err).Str("notifier", notifier).Str("message", m.ID).Str("about", m.Headline()).Msg("message about an alert failed permanently")
				return
			}
			log.Debug().Str("notifier", notifier).Str("message", m.ID).Str("about", m.Headline()).Msg("message about an alert delivered")
		},
	}, err
}

type deliveryMetrics struct {
	sender                         *notify.Sender
	total, pending, oldest, silent *prometheus.Desc
}

func newDeliveryMetrics(s *notify.Sender) deliveryMetrics {
	return deliveryMetrics{
		sender: s,
		total: prometheus.NewDesc("varve_deliveries_total",
			"Messages about alerts by notifier and outcome: delivered, failed permanently, or retried (failed attempts).", []string{"notifier", "outcome"}, nil),
		pending: prometheus.NewDesc("varve_deliveries_pending",
			"Messages that are not delivered yet, in the process that delivers; 0 in others.", []string{"notifier"}, nil),
		oldest: prometheus.NewDesc("varve_deliveries_oldest_seconds",
			"Age of the oldest message that is not delivered yet; 0 without one.", []string{"notifier"}, nil),
		silent: prometheus.NewDesc("varve_deliveries_silent_total", "Messages about late alerts of rules whose late alerts are silent.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m deliveryMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.total, m.pending, m.oldest, m.silent} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m deliveryMetrics) Collect(out chan<- prometheus.Metric) {
	for _, s := range m.sender.Stats() {
		for outcome, n := range map[string]int64{"delivered": s.Delivered, "failed": s.Failed, "retried": s.Retried} {
			out <- prometheus.MustNewConstMetric(m.total, prometheus.CounterValue, float64(n), s.Notifier, outcome)
		}
		age := time.Duration(0)
		if !s.Oldest.IsZero() {
			age = now().Sub(s.Oldest)
		}
		out <- prometheus.MustNewConstMetric(m.pending, prometheus.GaugeValue, float64(s.Pending), s.Notifier)
		out <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, max(age.Seconds(), 0), s.Notifier)
	}
	out <- prometheus.MustNewConstMetric(m.silent, prometheus.CounterValue, float64(m.sender.SilentCount()))
}
