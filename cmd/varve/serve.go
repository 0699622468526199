package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/config"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/internal/acceptlog"
	"github.com/varvedb/varve/internal/heapfloor"
	"github.com/varvedb/varve/receipts"
)

// heapFloor is the floor in bytes that makes garbage collections rare. See package heapfloor.
const heapFloor = 48 << 20

// service executes varve serve.
type service struct{ *app }

func serveCommand(a *app) *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Start the service", Args: cobra.NoArgs,
		Long: "Start the service. Without configuration: on the embedded store in ./data, on 127.0.0.1:8278.\n" +
			"Other addresses require an API key: create a first one with varve keys create --scope admin.\n" +
			"It stops on SIGTERM or Ctrl-C, when the requests under way are done; a second signal stops it at once.\n" +
			"SIGHUP reloads the configuration: the log level and the certificate apply at once, and the log names other changes.",
		Example: "  varve serve --data /var/lib/varve\n" +
			"  varve serve --drop true --set classes.default.retention=90d\n" +
			"  varve serve --store dynamodb --set store.endpoint=http://127.0.0.1:8000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := f.loadChecked(a)
			if err != nil {
				return err
			}
			return service{a}.serve(cmd.Context(), loaded, f.read)
		},
	}
	f.add(cmd)
	return cmd
}

// serve runs the service until the context ends. It rereads the configuration on SIGHUP.
func (a service) serve(ctx context.Context, loaded *config.Loaded, reread func() (*config.Loaded, error)) (err error) {
	c := &loaded.Config
	level := newLevelSwitch(c.Log.Level)
	log := a.logger(c.Log).Level(zerolog.TraceLevel).Sample(level)
	warnOfVariables(loaded, log)
	r := reloader{running: *loaded, reread: reread, level: level, log: log}
	defer r.watch()()
	defer heapfloor.SetFloor(heapFloor)()
	addThreads(c)
	secured, err := r.secure(c, log)
	if err != nil {
		return err
	}
	// Open the port first. Otherwise a port in use would be reported only after the data folder is open.
	// Opening the folder may take long.
	listener, err := listen(ctx, c.Server.Listen, "--listen")
	if err != nil {
		return err
	}
	door, err := openMQTT(ctx, c)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	debug, err := serveProfiles(ctx, c, log)
	if err != nil {
		return errors.Join(err, listener.Close(), door.abandon())
	}
	defer func() { err = errors.Join(err, debug.stop()) }()
	conditions := health.New(health.Options{Now: now, Changed: newFailures(log, now).changed})
	handler := newSwitched(api.Starting(conditions))
	srv := newServer(c, log, handler, secured)
	failed := make(chan error, 1)
	go func() { failed <- serve(srv, acceptlog.New(listener, log, now)) }()
	e, err := a.openUntil(ctx, c, log, conditions)
	if err != nil {
		if ctx.Err() != nil { // a stop while the store is opened is not a failure
			err = nil
		}
		return errors.Join(err, srv.Close(), door.abandon())
	}
	measured, stopMetrics := a.publish(ctx, c, e, log)
	served, sources := newHandler(c, e, log, measured, door, r.settings)
	srv.RegisterOnShutdown(served.Drain)
	if err = errors.Join(door.start(c, e, served, secured, log), sources.start(ctx, served)); err == nil {
		handler.set(served)
		a.announce(ctx, c, e, listener.Addr(), log)
		select {
		case <-ctx.Done():
			log.Info().Msg("shutdown started")
		case err = <-failed:
		}
	}
	err = errors.Join(err, stopDoors(sources, door), drain(srv, c.Server.Drain, log))
	stopMetrics()
	err = errors.Join(err, closeWithin(max(c.Server.Drain, leastClose), e.Close))
	if err == nil {
		log.Info().Msg("service stopped")
	}
	return err
}

func stopDoors(sources *consumers, door *mqttDoor) error {
	sources.stop()
	return door.stop()
}

// announce logs warnings about the configuration, and prints the addresses.
func (a service) announce(ctx context.Context, c *config.Config, e *engine.Engine, at net.Addr, log zerolog.Logger) {
	warnOfClear(c, log)
	warnOfQuota(ctx, c, log)
	keysOn, err := e.Keys.On(ctx)
	a.greet(c, at, kindOf(c).greeting(ctx, c, e.Store), keysOn || err != nil)
	log.Info().Str("listen", at.String()).Str("store", c.Store.Kind).Str("version", versionText()).Msg("service started")
}

// addThreads raises GOMAXPROCS by the extraThreads of the store, unless the variable GOMAXPROCS is set. A
// goroutine that waits for the disk occupies one of the threads until Go's scheduler notices.
func addThreads(c *config.Config) {
	if extra := kindOf(c).extraThreads; os.Getenv("GOMAXPROCS") == "" && extra > 0 {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + extra)
	}
}

// fatal ends the process immediately, because the store can neither continue nor close.
// Acknowledged readings are durable.
func (s *std) fatal(msg string) {
	fmt.Fprintf(s.err, "varve: the store failed: %s\n", msg)
	os.Exit(exitFailure) //nolint:forbidigo // nothing can be unwound
}

// drain ends the server when its requests are done, or after the given time.
func drain(srv *http.Server, within time.Duration, log zerolog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := srv.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn().Stringer("after", within).Msg("requests cut off")
		return srv.Close()
	}
	return err
}

// listen listens on an address. If the address is in use or not permitted, the error names the flag or
// setting that changes it.
func listen(ctx context.Context, address, flag string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: stop it, or choose another address with %s", address, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s may not be listened on: ports below 1024 need privileges; choose another with %s", address, flag)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", address, errors.Unwrap(err))
	}
	return l, nil
}

func (s *std) logger(c config.Log) zerolog.Logger {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel // does not happen: the configuration has been checked
	}
	if c.Format == "json" {
		return zerolog.New(s.console).Level(level).With().Timestamp().Logger()
	}
	w := zerolog.ConsoleWriter{Out: s.console, TimeFormat: time.TimeOnly, NoColor: !s.terminal || os.Getenv("NO_COLOR") != ""}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

func (a service) openEngine(ctx context.Context, c *config.Config, log zerolog.Logger, conditions *health.Conditions) (*engine.Engine, error) {
	delivery, err := deliveryOf(ctx, c, log)
	if err != nil {
		return nil, err
	}
	archived, err := openArchive(ctx, c, log)
	if err != nil {
		return nil, err
	}
	kind := kindOf(c)
	st, err := kind.open(ctx, storeOptions{config: c, log: log, conditions: conditions, fatal: a.fatal})
	if err != nil {
		return nil, err
	}
	if err := mayListen(ctx, c, apikeys.New(st, now)); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	rotation := c.Rotation()
	return engine.Open(ctx, engine.Options{
		Store: st, Rotation: &rotation,
		Layouts: c.Layouts(), Parallel: kind.tables, LogRetention: c.Logs.Retention, NoRollups: !c.Rollups.Enabled, Resent: c.Resent(),
		Schedule: c.Retention.Schedule, MaxRequests: c.Limits.Requests, MaxReadings: c.Limits.Readings, RequestTimeout: c.Limits.Request,
		SeriesFields: c.Limits.SeriesFields, Rejects: c.RejectOptions(), CorrectClocks: c.CorrectClocks(), Notify: delivery, Archive: archived, Indexed: c.Indexed(), Shared: c.IsShared(), IndexesAny: c.IndexesAny(),
		Holder: kind.holder, Now: now, Conditions: conditions, Events: engineEvents(log),
	})
}

// newHandler returns the handler of an engine that is open, and consumers that are not started.
func newHandler(c *config.Config, e *engine.Engine, log zerolog.Logger, judged func(readings, rejected int), door *mqttDoor, settings func() []wire.SettingBody) (*api.Server, *consumers) {
	reg := prometheus.NewRegistry()
	door.metrics = reg
	sources := &consumers{c: c, e: e, log: log, metrics: reg}
	kind := kindOf(c)
	registerEngine(reg, e, kind)
	if kind.register != nil {
		kind.register(reg, c, e.Store)
	}
	if e.Archiver != nil {
		reg.MustRegister(newArchiveMetrics(e))
	}
	if e.Sender != nil {
		reg.MustRegister(newDeliveryMetrics(e.Sender))
	}
	return api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Devices: e.Devices, Logs: e.Logs, Rejects: e.Rejects, Clocks: e.Clocks, Alerts: e.Alerts, Items: e.Store,
		Changes: e.Changes, Rollups: e.Rollups, Receipts: receipts.NewKeyring(e.Store, c.Receipts.KeyFile), Aggregator: e.Aggregator, Keys: e.Keys, KeysRequired: !c.Server.Loopback(), Conditions: e.Conditions, Now: e.Now,
		Version: versionText(), Verify: verifierOf(e, c, kind), Snapshot: snapshotterOf(e), Metrics: reg, Hosts: c.Server.HostList(), Account: accountOf(c, e.Store),
		MQTT: door.status, Settings: settings, Console: consoleOf(c),
		Erasures: api.Erasures{Eraser: e.Erasures, Begin: e.BeginErasure},
		Archive:  api.Archive{Archiver: e.Archiver, Streams: c.ArchiveStreams(), Now: e.ArchiveNow, Restore: engine.ArchiveRestorer{Engine: e}.Restore, PlanAcceptance: engine.ArchiveAcceptor{Engine: e}.Plan, Accept: engine.ArchiveAcceptor{Engine: e}.Accept},
		Influx:   api.Influx{Disabled: !c.Influx.Enabled, Lines: c.Influx.Mapping(), Databases: c.Influx.DatabaseList()},
		Prometheus: api.Prometheus{
			MaxSeries: c.Query.MaxSeries, MaxSamples: c.Query.MaxSamples, Timeout: c.Query.Timeout,
			Lookback: c.Prometheus.Lookback, StreamLookback: c.StreamLookbacks(),
		},
		AWS: api.AWS{Firehose: c.AWS.Firehose, IoTAccounts: c.AWS.IoT.AccountList()},
		Limits: api.Limits{
			Body: int64(c.Limits.Body), Request: c.Limits.Request, Stall: c.Limits.Stall,
			Reads: c.Limits.Reads, ReadsAtWork: kind.reads,
		},
		Events: api.Events{
			Failed:     newFailures(log, now).request,
			Judged:     judged,
			KeyCreated: func(k apikeys.Key, by string) { keyChanged(log, "API key made", &k, by) },
			KeyRevoked: func(k apikeys.Key, by string) { keyChanged(log, "API key revoked", &k, by) },
			Confirmed:  func(arn, enableURL string, err error) { destinationConfirmed(log, arn, enableURL, err) },
		},
	}), sources
}

func newServer(c *config.Config, log zerolog.Logger, handler http.Handler, secured *tls.Config) *http.Server {
	return &http.Server{
		Handler: handler, TLSConfig: secured, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: c.Limits.Request,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: quiet(log),
		// This timeout is needed, because the deadline of a stream does not end a write that waits for the
		// connection.
		HTTP2:                        &http.HTTP2Config{WriteByteTimeout: c.Limits.Stall},
		DisableGeneralOptionsHandler: true, // that handler would answer without a key
	}
}

// greet prints the addresses and next commands, ready to paste.
func (a service) greet(c *config.Config, at net.Addr, place string, keysOn bool) {
	url := c.Server.URL(at.String())
	self, pages, server, keys := selfCommand(), "", "", "none yet: only this machine can reach it"
	if url != client.DefaultServer {
		server = "  export VARVE_SERVER=" + url + "\n"
	}
	if keysOn {
		keys = "every request requires one: VARVE_KEY_FILE names the file with yours"
	}
	if c.Console.Enabled {
		pages = "  console  " + url + "/ui\n"
	}
	fmt.Fprintf(a.out, `Varve %s is ready.

%s  API      %s         (docs: %s/docs)
  data     %s
  keys     %s

Try next, in another terminal:

%s  echo '{"device":"sensor_01","time":"%s","fields":{"temperature":22.4}}' | %s ingest --stream weather --format ndjson -
  %s query weather sensor_01
  %s tables list

Ctrl-C stops it.

`, versionText(), pages, url, url, place, keys, server, now().UTC().Format(time.RFC3339), self, self, self)
}

// absolute returns the absolute form of a path. If that is unknown, it returns the path.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// selfCommand returns the name by which this program was called, for commands that users paste.
func selfCommand() string {
	if strings.ContainsRune(os.Args[0], filepath.Separator) {
		return os.Args[0]
	}
	return "varve"
}
