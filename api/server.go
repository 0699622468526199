package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/clocks"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/internal/stall"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/receipts"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/tablescan"
	"github.com/varvedb/varve/streams"
)

// Options has the parts that the server uses. All are required except Rejects, Clocks, Changes,
// Rollups, Receipts, Aggregator, Keys, KeysRequired, Conditions, Version, Verify, Snapshot, Limits,
// Hosts, Events, Influx, AWS, Prometheus, MQTT, Settings, Console, Account, Archive and Erasures.
type Options struct {
	Router     *router.Router
	Query      *query.Engine
	Rotator    *rotator.Rotator
	Lifecycle  store.Lifecycle
	Tables     tablescan.Source // reads whole tables
	Streams    *streams.Registry
	Devices    *devices.Registry
	Logs       *devicelog.Log
	Rejects    *rejects.Registry // if nil, no rejects are stored
	Clocks     *clocks.Corrector // if nil, no clock is corrected
	Alerts     *alerts.Monitor
	Items      store.Items       // the registry, for the deliveries of alerts
	Changes    *changes.Reader   // if nil, changes are not recorded by arrival
	Rollups    *rollup.Reader    // if nil, roll-ups are off
	Receipts   *receipts.Keyring // if nil, no receipts are signed
	Aggregator *rollup.Aggregator
	// Keys checks the API keys of requests. If nil, no keys exist, and every request may do
	// everything unless KeysRequired is set.
	Keys *apikeys.Registry
	// KeysRequired refuses requests without a key even before the first key exists. Routes that need no
	// key are not affected.
	KeysRequired bool
	// Conditions are part of readiness and metrics. If nil, no condition is ever set.
	Conditions *health.Conditions
	Now        func() time.Time
	Version    string
	// Verify reads all stored data and reports damage. If nil, the store has nothing that can be
	// damaged.
	Verify Verifier
	// Snapshot makes snapshots of an embedded store. If nil, the store has none.
	Snapshot Snapshotter
	Metrics  *prometheus.Registry
	Limits   Limits
	// Hosts are further names of the server, with a port or without. Localhost and loopback
	// addresses are always accepted.
	Hosts      []string
	Events     Events
	Influx     Influx
	AWS        AWS
	Prometheus Prometheus
	// MQTT returns the state of the door for MQTT. If nil, the door is closed.
	MQTT func() wire.MQTTBody
	// Settings returns the settings in force, without secrets. If nil, the list is empty.
	Settings func() []wire.SettingBody
	// Console returns the handler of the console, at /ui. The console calls notFound for unknown paths. If
	// nil, the console is off.
	Console func(notFound http.Handler) http.Handler
	// Account describes the cloud account. The zero value has no limits, and is not billed.
	Account Account
	// Archive archives tables. With the zero value, tables are not archived.
	Archive Archive
	// Erasures erases the data of devices. With the zero value, no data can be erased.
	Erasures Erasures
}

// Account has the limits of a cloud account, and the facts that determine its bill.
type Account struct {
	TableQuota int  // the maximum number of tables; 0 means no limit
	Billed     bool // requests and bytes are billed at the prices of DynamoDB
	Rollups    bool // readings have roll-ups
	// CountTables returns the number of all tables in the account. If nil, only the tables of
	// this deployment count.
	CountTables func(context.Context) (int, error)
}

// Limits bounds the duration, size and number of requests. Zero fields have defaults.
type Limits struct {
	// Body is the maximum length of a write's body after decompression, in bytes. 0 means 1 GiB.
	Body int64
	// Request is the time limit of a request, except for verifications and snapshots. It must be
	// shorter than the time after which a table is sealed. 0 means 15 minutes.
	Request time.Duration
	// Stall is the longest time without progress on a connection. 0 means one minute.
	Stall time.Duration
	// Reads is the maximum number of concurrent reads; further ones are refused. 0 means 512.
	Reads int
	// ReadsAtWork is the number of these reads that may use the store at a time; others wait. 0
	// means one per processor, which suits a local store.
	ReadsAtWork int
}

func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = 1 << 30
	}
	if l.Request == 0 {
		l.Request = router.DefaultRequestTimeout
	}
	if l.Stall == 0 {
		l.Stall = time.Minute
	}
	if l.Reads == 0 {
		l.Reads = 512
	}
	if l.ReadsAtWork == 0 {
		l.ReadsAtWork = defaultReadsAtWork()
	}
	return l
}

// Events has callbacks. A nil callback is not called.
type Events struct {
	// Failed is called after a request failed through a fault of the server.
	Failed func(r *http.Request, err error)
	// Judged is called after readings got their verdicts, with the number of readings and of
	// rejected readings.
	Judged func(readings, rejected int)
	// KeyCreated and KeyRevoked report a change of a key. The argument "by" is the id of the key
	// that made the change, or "" before the first key.
	KeyCreated, KeyRevoked func(k apikeys.Key, by string)
	// Confirmed is called with the result of a confirmation of AWS IoT Core. The server calls it
	// after it requested the address, or refused the account or the address. If the server refused,
	// enableURL is "". Confirmed is not called for malformed confirmations, or for too many of them.
	Confirmed func(arn, enableURL string, err error)
}

func (e Events) withDefaults() Events {
	if e.Failed == nil {
		e.Failed = func(*http.Request, error) {}
	}
	if e.Judged == nil {
		e.Judged = func(int, int) {}
	}
	if e.KeyCreated == nil {
		e.KeyCreated = func(apikeys.Key, string) {}
	}
	if e.KeyRevoked == nil {
		e.KeyRevoked = func(apikeys.Key, string) {}
	}
	if e.Confirmed == nil {
		e.Confirmed = func(string, string, error) {}
	}
	return e
}

// Server is the HTTP server's handler. It checks and routes requests; the handlers
// of resources answer them.
type Server struct {
	*responder
	guard     *guard
	mux       *http.ServeMux
	handler   http.Handler // calls route, within the limits of stalls
	metrics   *metrics
	routes    []string
	reads     *reads
	timeLimit time.Duration // time limit of a request
	drain     context.CancelFunc

	newIngester func(door) *ingest.Ingester
	newReceiver func(door) *records.Receiver
}

// NewMQTTIngester returns the ingester of the door for MQTT. It shares the memory for batches and the
// metrics of the server.
func (s *Server) NewMQTTIngester() *ingest.Ingester { return s.newIngester(doorMQTT) }

// New returns a server.
func New(opts Options) *Server {
	opts.Limits = opts.Limits.withDefaults()
	opts.Events = opts.Events.withDefaults()
	draining, drain := context.WithCancel(context.Background())
	s := &Server{
		responder: &responder{report: opts.Events.Failed},
		guard:     &guard{keys: opts.Keys, keysRequired: opts.KeysRequired, hosts: opts.Hosts, now: opts.Now},
		mux:       http.NewServeMux(), metrics: newMetrics(opts.Metrics, opts.Rotator, opts.Conditions),
		reads: newReads(opts.Limits), timeLimit: opts.Limits.Request, drain: drain,
	}
	o := newOperations(s, opts.Version)
	for _, r := range s.resources(draining, &opts) {
		r.addRoutes(o)
	}
	s.mux.HandleFunc("/", s.notFound)
	s.handler = stall.Handler(http.HandlerFunc(s.route), stall.Limits{Stall: opts.Limits.Stall, Body: opts.Limits.Request})
	o.describeKeys()
	return s
}

// NewKinesisReceiver returns the receiver of queue records of Kinesis. It shares the memory for batches
// and the metrics of the server.
func (s *Server) NewKinesisReceiver() *records.Receiver { return s.newReceiver(doorKinesis) }

// NewSQSReceiver returns the receiver of messages of SQS. It shares the memory for batches and the
// metrics of the server.
func (s *Server) NewSQSReceiver() *records.Receiver { return s.newReceiver(doorSQS) }

// Drain ends running verifications, snapshots, and requests that wait for changes. They may take longer
// than a stopping server waits for its requests.
func (s *Server) Drain() { s.drain() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// route checks the key and the host of a request, and calls the handler of its route.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	r, err := s.guard.enter(r)
	if err != nil {
		s.metrics.refused(err)
		s.fail(w, r, err)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// HandleFunc adds a route with its access check, metrics and limits of time and reads. huma uses
// it to add its routes, too.
func (s *Server) HandleFunc(pattern string, handle func(http.ResponseWriter, *http.Request)) {
	s.routes = append(s.routes, pattern)
	if accesses[pattern].reads() && !waits(pattern) {
		handle = s.reads.limit(s.responder, handle)
	}
	handle = s.require(accesses[pattern], handle)
	observe := s.metrics.route(pattern)
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		if pattern != verifyPattern && pattern != snapshotPattern { // verifications limit the time without progress; snapshots last as long as their clients
			ctx, cancel := context.WithTimeoutCause(r.Context(), s.timeLimit, errTooLong)
			defer cancel()
			r = r.WithContext(ctx)
		}
		sw := &statusWriter{ResponseWriter: w}
		handle(sw, r)
		observe(sw.status, time.Since(begin))
	})
}

var errTooLong = varve.Errorf(varve.Unavailable, "the request took longer than the server allows")

// Routes returns the patterns of all routes.
func (s *Server) Routes() []string { return s.routes }

// statusWriter records the status of the answer, for the metrics.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the wrapped writer, so that http.ResponseController reaches the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// notFound answers requests without a route. The status is 405 if the path has a route with another
// method, else 404.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	if allowed := s.methods(r); len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		s.metrics.unknown.WithLabelValues(strconv.Itoa(http.StatusMethodNotAllowed)).Inc()
		s.fail(w, r, &varve.Error{
			Failure: varve.Invalid, Err: errMethod,
			Message: fmt.Sprintf("%s takes %s, not %s", r.URL.Path, strings.Join(allowed, " or "), r.Method),
		})
		return
	}
	s.metrics.unknown.WithLabelValues(strconv.Itoa(http.StatusNotFound)).Inc()
	s.fail(w, r, varve.Errorf(varve.NotFound, "%s: not found: see /docs for all paths", r.URL.Path))
}

func (s *Server) methods(r *http.Request) (allowed []string) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}
