package config

import (
	"time"

	"github.com/varvedb/varve/prometheus"
)

// Query bounds PromQL queries.
type Query struct {
	MaxSeries  int           // maximum number of series of a selector
	MaxSamples int           // maximum number of samples that a query has in memory
	Timeout    time.Duration // time limit of a query
}

// Prometheus configures the query API of Prometheus.
type Prometheus struct {
	Lookback time.Duration // look-back of streams that set none; 0 means three times the observed interval
}

func defaultQuery() Query {
	return Query{MaxSeries: prometheus.DefaultMaxSeries, MaxSamples: prometheus.DefaultMaxSamples, Timeout: prometheus.DefaultTimeout}
}

func promSettings() []setting {
	return []setting{
		whole("query.max_series", "PromQL: maximum number of series of a selector", 1, func(c *Config) *int { return &c.Query.MaxSeries }),
		whole("query.max_samples", "PromQL: maximum number of samples that a query holds in memory, of 16 bytes each", 1, func(c *Config) *int { return &c.Query.MaxSamples }),
		positive(span("query.timeout", "PromQL: time limit of a query", func(c *Config) *time.Duration { return &c.Query.Timeout })),
		span("prometheus.lookback", "PromQL: how long the last value of a series counts; 0s means three times the observed interval", func(c *Config) *time.Duration { return &c.Prometheus.Lookback }),
	}
}

// StreamLookbacks returns the look-back of each stream that has one of its own.
func (c *Config) StreamLookbacks() map[string]time.Duration {
	own := map[string]time.Duration{}
	for name, s := range c.Streams {
		if s.Lookback > 0 {
			own[name] = s.Lookback
		}
	}
	return own
}
