package api

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
)

// batchMemory limits the memory of the batches of all writes, in addition to a small amount for
// each write.
const batchMemory = 16 << 20

// resource serves the routes of one kind of object.
type resource interface {
	addRoutes(o *operations)
}

// resources returns the handlers of all resources, each with the parts that it uses. The context
// draining ends when the server stops.
func (s *Server) resources(draining context.Context, o *Options) []resource {
	a := s.responder
	d := &directory{streams: o.Streams, devices: o.Devices, query: o.Query}
	aggregates := aggregate.New(aggregate.Options{Readings: o.Query, Rollups: o.Rollups, InTurn: s.reads.inTurn})
	budget := wire.NewBudget(batchMemory)
	return []resource{
		&ingestHandler{responder: a, limits: o.Limits, lines: o.Influx.Lines, now: o.Now, ingester: newIngester(doorHTTP, budget, s.metrics, o)},
		&influxHandler{
			responder: a, Influx: o.Influx, limits: o.Limits, ingester: newIngester(doorInflux, budget, s.metrics, o),
			rotator: o.Rotator, conditions: o.Conditions, now: o.Now, started: o.Now(), version: o.Version,
		},
		&readingsHandler{
			responder: a, directory: d, query: o.Query, conditions: o.Conditions, reads: s.reads,
			stall: o.Limits.Stall, now: o.Now,
		},
		&whyHandler{responder: a, query: o.Query, streams: o.Streams, devices: o.Devices, rotator: o.Rotator, reads: s.reads, now: o.Now},
		&latestHandler{responder: a, directory: d},
		&streamDevicesHandler{responder: a, directory: d, now: o.Now},
		&countsHandler{responder: a, directory: d, engine: aggregates, now: o.Now},
		&aggregateHandler{
			responder: a, directory: d, stall: o.Limits.Stall, now: o.Now, memory: semaphore.NewWeighted(aggregateMemory), engine: aggregates,
		},
		&rollupsHandler{responder: a, directory: d, reader: o.Rollups, aggregator: o.Aggregator, now: o.Now},
		&verifyHandler{responder: a, verify: o.Verify, limits: o.Limits, draining: draining},
		&tablesHandler{responder: a, rotator: o.Rotator, lifecycle: o.Lifecycle, account: o.Account, now: o.Now},
		&streamsHandler{responder: a, registry: o.Streams, rotator: o.Rotator},
		&keysHandler{responder: a, registry: o.Keys, events: o.Events, now: o.Now},
		&devicesHandler{responder: a, registry: o.Devices, query: o.Query, now: o.Now},
		&logsHandler{responder: a, directory: d, log: o.Logs, now: o.Now},
		&rulesHandler{responder: a, monitor: o.Alerts, now: o.Now},
		&alertsHandler{responder: a, directory: d, monitor: o.Alerts, now: o.Now},
		&healthHandler{
			responder: a, rotator: o.Rotator, conditions: o.Conditions, metrics: o.Metrics, version: o.Version,
		},
		docsHandler{},
	}
}
