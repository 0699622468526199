package main

import (
	"cmp"
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store/dynamo"
)

// dynamoOptions returns the options of the store. If the argument "attempts" is positive, it limits
// the attempts of each request.
func dynamoOptions(ctx context.Context, c *config.Config, attempts int) (o dynamo.Options, err error) {
	client, err := dynamo.Connect(ctx, dynamo.ConnectOptions{Region: c.Store.Region, Endpoint: c.Store.Endpoint, Attempts: attempts})
	if err != nil {
		return o, err
	}
	return dynamo.Options{
		Client: client, Now: now, KeepExpired: c.Retention.ArchiveFirst, ClassOf: classOf(c.Policy()),
		Registry: cmp.Or(c.Store.Registry, c.Tables.Prefix+"_registry"),
	}, nil
}

// classOf returns a function that finds the retention class of a table's prefix.
func classOf(p *retention.Policy) func(prefix string) string {
	return func(prefix string) string {
		c, _ := p.ClassOfPrefix(prefix)
		return c.Name
	}
}

// registerUsage adds the consumed capacity of the store to the metrics.
func registerUsage(reg *prometheus.Registry, s *dynamo.Store) {
	for work, of := range map[string]func(dynamo.Usage) dynamo.Use{
		"write":          func(u dynamo.Usage) dynamo.Use { return u.Writes },
		"read":           func(u dynamo.Usage) dynamo.Use { return u.Reads },
		"registry_write": func(u dynamo.Usage) dynamo.Use { return u.RegistryWrites },
		"registry_read":  func(u dynamo.Usage) dynamo.Use { return u.RegistryReads },
	} {
		counter := func(name, help string, value func(dynamo.Use) float64) {
			reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: name, Help: help, ConstLabels: prometheus.Labels{"work": work},
			}, func() float64 { return value(of(s.Usage())) }))
		}
		counter("varve_dynamodb_requests_total", "Requests that DynamoDB carried out, by kind of work.",
			func(u dynamo.Use) float64 { return float64(u.Requests) })
		counter("varve_dynamodb_units_total", "Request units that DynamoDB billed, by kind of work.",
			func(u dynamo.Use) float64 { return u.Units })
	}
}
