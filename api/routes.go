package api

import (
	"context"
	"net/http"

	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/arrivals"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/store/tablescan"
)

// batchMemory is the memory in bytes for the batches of all writes, in addition to a small amount
// for each write.
const batchMemory = 16 << 20

// resource serves the routes of one type of object, such as tables.
type resource interface {
	addRoutes(o *operations)
}

// resources returns the handlers of all resources, each with the parts that it uses. The argument
// "draining" is a context that ends when the server stops.
func (s *Server) resources(draining context.Context, o *Options) []resource {
	a := s.responder
	d := &directory{streams: o.Streams, devices: o.Devices, query: o.Query, reads: s.reads}
	aggregates := aggregate.New(aggregate.Options{Readings: o.Query, Rollups: o.Rollups, InTurn: s.reads.inPausableTurn})
	budget := wire.NewBudget(batchMemory)
	arrived := arrivals.New(o.Now)
	s.newIngester = func(d door) *ingest.Ingester { return newIngester(d, budget, s.metrics, arrived, o) }
	s.newReceiver = func(d door) *records.Receiver {
		return &records.Receiver{Ingester: s.newIngester(d), Lines: o.Influx.Lines, Now: o.Now}
	}
	rules := &rulesHandler{responder: a, directory: d, monitor: o.Alerts, now: o.Now}
	tables := &tablesHandler{responder: a, rotator: o.Rotator, lifecycle: o.Lifecycle, archive: o.Archive, account: o.Account, now: o.Now}
	return []resource{
		&ingestHandler{writes.Readings{Options: s.writeOptions(doorHTTP, o)}},
		&influxHandler{
			responder: a, Influx: o.Influx, writes: writes.Lines{Options: s.writeOptions(doorInflux, o), Databases: o.Influx.Databases},
			rotator: o.Rotator, conditions: o.Conditions, now: o.Now, started: o.Now(), version: o.Version,
		},
		&firehoseHandler{responder: a, receiver: s.newReceiver(doorFirehose), limits: o.Limits, now: o.Now, enabled: o.AWS.Firehose},
		newIoT(a, s.newReceiver(doorIoT), o),
		&readingsHandler{
			responder: a, directory: d, query: o.Query, conditions: o.Conditions, archive: &o.Archive, reads: s.reads,
			now: o.Now,
		},
		newChanges(a, d, s.reads, draining, o),
		&whyHandler{responder: a, query: o.Query, streams: o.Streams, devices: o.Devices, rejects: o.Rejects, rotator: o.Rotator, archive: o.Archive, reads: s.reads, now: o.Now},
		&latestHandler{responder: a, directory: d, now: o.Now},
		&streamDevicesHandler{responder: a, directory: d, now: o.Now}, &streamSeriesHandler{responder: a, directory: d, tables: o.Tables, reads: s.reads},
		&digestsHandler{responder: a, directory: d, reader: newReconciler(s.reads, o), keyring: o.Receipts, now: o.Now},
		&countsHandler{responder: a, directory: d, engine: aggregates, now: o.Now},
		&aggregateHandler{
			responder: a, directory: d, archive: &o.Archive, now: o.Now, memory: semaphore.NewWeighted(aggregateMemory), engine: aggregates,
		},
		&rollupsHandler{responder: a, directory: d, reader: o.Rollups, aggregator: o.Aggregator, reads: s.reads, now: o.Now},
		&verifyHandler{responder: a, verify: o.Verify, limits: o.Limits, draining: draining},
		&snapshotsHandler{responder: a, make: o.Snapshot, limits: o.Limits, draining: draining},
		tables, &tableArrivalsHandler{tablesHandler: tables, scanner: tablescan.Scanner{Source: o.Tables, InTurn: s.reads.inTurn}},
		&erasuresHandler{responder: a, Erasures: o.Erasures, now: o.Now},
		&archiveHandler{responder: a, Archive: o.Archive, rotator: o.Rotator},
		&streamsHandler{responder: a, directory: d, registry: o.Streams, rotator: o.Rotator, archive: o.Archive},
		&keysHandler{responder: a, registry: o.Keys, events: o.Events, now: o.Now},
		&devicesHandler{responder: a, registry: o.Devices, query: o.Query, now: o.Now},
		&deviceHealthHandler{responder: a, directory: d, monitor: o.Alerts, rollups: o.Rollups, reads: s.reads, now: o.Now},
		&rejectsHandler{
			responder: a, directory: d, registry: o.Rejects, ingester: s.newIngester(doorReplay), lines: o.Influx.Lines, now: o.Now,
		},
		&logsHandler{responder: a, directory: d, log: o.Logs, now: o.Now},
		rules,
		&previewHandler{rulesHandler: rules, reads: s.reads},
		&alertsHandler{responder: a, directory: d, monitor: o.Alerts, now: o.Now},
		&deliveriesHandler{responder: a, items: o.Items},
		&healthHandler{responder: a, rotator: o.Rotator, conditions: o.Conditions, keysOn: s.guard.keysOn, metrics: o.Metrics, version: o.Version},
		&arrivalsHandler{arrived},
		newPrometheus(a, s.reads, o),
		&mqttHandler{status: o.MQTT},
		&settingsHandler{list: o.Settings},
		docsHandler{},
		&consoleHandler{responder: a, console: o.Console, notFound: s.notFound, keysOn: s.guard.keysOn, version: o.Version},
	}
}

// writeOptions returns the options of the handlers of writes.
func (s *Server) writeOptions(d door, o *Options) writes.Options {
	return writes.Options{
		Ingester: s.newIngester(d), MaxBody: o.Limits.Body, Lines: o.Influx.Lines, Now: o.Now,
		Grant: func(r *http.Request) *apikeys.Grant { return grantOf(r.Context()) }, Fail: s.failWrite,
	}
}
