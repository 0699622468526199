package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/clocks"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// Options configures an engine. Store is required.
type Options struct {
	// Store is the store of all data. The engine closes it, even if Open fails.
	Store store.Store
	// Rotation defines the tables, the retention classes and the schedule of tables. If nil,
	// DefaultRotation is used. With roll-ups, RecountGrace is raised to at least
	// rollup.RecountWindow.
	Rotation *rotator.Policy
	// LogRetention is the retention of device logs; see devicelog.Options.
	LogRetention time.Duration
	// Rejects bounds the stored rejects. With the zero value, no rejects are stored. Its Items, Now
	// and Failed are ignored.
	Rejects rejects.Options
	// CorrectClocks names the streams in which event times in the future are corrected; see package
	// clocks.
	CorrectClocks map[string]bool
	// Schedule defines when the rotator runs. If empty, it is @hourly. The rotator also runs once
	// in Open.
	Schedule string
	// MaxRequests and MaxReadings limit concurrent writes; see router.Options.
	MaxRequests int
	MaxReadings int
	// RequestTimeout limits the time of a request that writes readings. 0 means
	// router.DefaultRequestTimeout.
	RequestTimeout time.Duration
	// SeriesFields is the maximum number of different fields of a series; see fields.New.
	SeriesFields int
	// Parallel limits the tables that one query reads, or one rotation creates, at the same time.
	Parallel int
	// Layouts has the layouts of streams by name; see router.Options.
	Layouts map[string]store.Layout
	// NoRollups disables roll-ups.
	NoRollups bool
	// Resent selects how roll-ups count a reading that may be a copy of a dropped one.
	Resent rollup.Resent
	// Indexed reports whether the changes of a stream are recorded by arrival. If nil, no changes
	// are recorded.
	Indexed func(stream string) bool
	// Shared means that other processes write to the store, too. All of them need the same Indexed.
	Shared bool
	// IndexesAny means that Indexed is true for some streams. It is required only with Shared.
	IndexesAny bool
	// Archive configures the archive of tables. Without Objects, tables are not archived.
	Archive Archive
	// Notify configures the delivery of alerts. Without notifiers in its Targets, alerts are not
	// delivered.
	Notify Notify
	// Holder names this process in leases. Processes that share a store need different names. If
	// empty, a random name is used.
	Holder string
	// Now is the clock. If nil, it is time.Now.
	Now func() time.Time
	// Conditions receives the conditions that impair the service. If nil, the engine creates a set.
	Conditions *health.Conditions
	Events     Events
}

// Notify configures the delivery of alerts; see notify.Options.
type Notify struct {
	Targets []notify.Target
	URL     string
	Digest  time.Duration
	Ended   func(notifier string, m *notify.Message, err error)
}

// Events has the callbacks of the connected packages.
type Events struct {
	Router  router.Events
	Rotator rotator.Events
	// Failed, if set, is called when a background task fails.
	Failed func(task string, err error)
	// Counted is called after the aggregator has processed dirty markers or failed. If nil, it is
	// skipped.
	Counted func(markers int, took time.Duration, err error)
	// Scaled, if set, is called after the capacity of a table was changed to match its use.
	Scaled func(store.CapacityChange)
	// Erasure is called after an erasure has begun or changed. If nil, it is skipped.
	Erasure func(erasures.Record)
	// Repaired is called after the streams in the registry were repaired, or after their repair failed.
	// The argument "streams" is the number of repaired items. If nil, it is skipped.
	Repaired func(streams int, err error)
	// Unclaimed is called by Open once for each prefix of owned tables without a class.
	//
	// The readings of these tables are neither returned nor dropped. If nil, it is skipped.
	Unclaimed func(prefix string, tables int, readings int64)
}

// DefaultRetention is the retention of the default policy.
const DefaultRetention = 365 * 24 * time.Hour

// DefaultPolicy returns the retention policy that applies if none is configured.
func DefaultPolicy() *retention.Policy {
	return &retention.Policy{
		Prefix:  "varve",
		Classes: []retention.Class{{Name: retention.DefaultClass, Retention: DefaultRetention}},
	}
}

// DefaultRotation returns the policy of the rotator that applies if none is configured. It drops
// no tables.
func DefaultRotation() *rotator.Policy {
	return &rotator.Policy{Grid: grid.DefaultPolicy(), Retention: DefaultPolicy()}
}

func (o Options) withDefaults() Options {
	if o.Rotation == nil {
		o.Rotation = DefaultRotation()
	}
	if !o.NoRollups {
		policy := *o.Rotation
		policy.RecountGrace = max(policy.RecountGrace, rollup.RecountWindow)
		o.Rotation = &policy
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = router.DefaultRequestTimeout
	}
	if o.Schedule == "" {
		o.Schedule = "@hourly"
	}
	if o.Holder == "" {
		host, _ := os.Hostname() // without a host name, the rest of the text is unique enough
		o.Holder = fmt.Sprintf("%s-%d-%x", host, os.Getpid(), rand.Uint64())
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Conditions == nil {
		o.Conditions = health.New(health.Options{Now: o.Now})
	}
	if o.Events.Repaired == nil {
		o.Events.Repaired = func(int, error) {}
	}
	if o.Events.Counted == nil {
		o.Events.Counted = func(int, time.Duration, error) {}
	}
	return o
}

// Engine has the connected packages. They are safe for concurrent use.
type Engine struct {
	Store      store.Store
	Streams    *streams.Registry
	Keys       *apikeys.Registry
	Router     *router.Router
	Query      *query.Engine
	Rotator    *rotator.Rotator
	Devices    *devices.Registry
	Logs       *devicelog.Log
	Rejects    *rejects.Registry
	Clocks     *clocks.Corrector // if nil, no clock is corrected
	Alerts     *alerts.Monitor
	Sender     *notify.Sender    // if nil, alerts are not delivered
	Rollups    *rollup.Reader    // if nil, roll-ups are off
	Archiver   *archive.Archiver // if nil, tables are not archived
	Archives   *archive.Reader   // if nil, tables are not archived
	Aggregator *rollup.Aggregator
	Changes    *changes.Reader  // if nil, changes are not recorded by arrival
	Cluster    *changes.Cluster // if nil, no other process writes to the store
	Erasures   *erasures.Eraser
	Now        func() time.Time
	// Holder names this process in leases.
	Holder string
	// Conditions has the conditions that are set now.
	Conditions *health.Conditions

	cron        *cron.Cron
	first       sync.WaitGroup // tasks that run once, at the start
	background  context.Context
	stop        context.CancelFunc
	retries     sync.WaitGroup
	retrying    atomic.Bool
	aggregating sync.Mutex
	archives    archives
	tracker     *changes.Tracker
	horizon     *changes.Horizon
	erasures    erasing
	fields      *fields.Registry
	closing     sync.Once
	closeErr    error
}

// Open connects the packages, runs the rotator once to create tables, and starts the schedule. A
// rotation that takes longer than firstRotation continues in the background.
//
// If the first rotation fails, Open succeeds and sets the condition RotationFailing. The router
// creates missing tables, and the next rotation does the rest.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o = o.withDefaults()
	schedule, err := rotator.ParseSchedule(o.Schedule)
	for stream, layout := range o.Layouts {
		if bad := layout.Validate(); bad != nil {
			err = errors.Join(err, fmt.Errorf("stream %s: %w", stream, bad))
		}
	}
	if err = errors.Join(err, o.Rotation.Validate()); err != nil {
		return nil, errors.Join(err, o.Store.Close())
	}
	e := &Engine{erasures: erasing{running: make(chan struct{}, 1)}, Store: o.Store, Streams: streams.New(o.Store, o.Now), Keys: apikeys.New(o.Store, o.Now), Now: o.Now, Holder: o.Holder, Conditions: o.Conditions}
	e.wire(o)
	e.openChanges(ctx, o)
	e.background, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	rotateFirst(ctx, e)
	e.repairStreams(ctx, o.Events.Repaired)
	// If tables cannot be listed, the rotator has failed, too, and has reported the error.
	_ = tellUnclaimed(ctx, o)
	e.cron = cron.New(cron.WithLocation(time.UTC))
	e.cron.Schedule(schedule, cron.FuncJob(func() {
		// Failures are visible in the events and the health of the rotator.
		_ = e.rotate()
		e.archiveTables()
	}))
	silence := e.checkAlerts(o.Events.Failed)
	e.cron.Schedule(cron.Every(time.Minute), cron.FuncJob(silence))
	e.cron.Schedule(cron.Every(aggregateEvery), cron.FuncJob(func() { e.aggregate(e.background, o.Events.Counted) }))
	if scaler, ok := o.Store.(store.Scaler); ok {
		e.cron.Schedule(cron.Every(time.Minute), cron.FuncJob(e.scaleTables(scaler, o.Events)))
	}
	if o.Shared && o.IndexesAny {
		e.cron.Schedule(cron.Every(changes.RenewEvery), cron.FuncJob(renewArrivals(e, o.Events.Failed)))
	}
	e.cron.Schedule(cron.Every(eraseEvery), cron.FuncJob(e.workOnErasures))
	e.cron.Start()
	e.first.Go(silence)
	e.first.Go(e.workOnErasures)
	e.first.Go(e.archiveTables)
	if e.Sender != nil {
		e.first.Go(func() { e.Sender.Run(e.background) })
	}
	return e, nil
}

func (e *Engine) wire(o Options) {
	policy := o.Rotation
	e.wireArchive(o)
	e.Devices = devices.New(devices.Options{Items: o.Store, Policy: policy.Retention, Now: o.Now, Failed: o.Events.Failed})
	e.Logs = devicelog.New(devicelog.Options{Items: o.Store, Now: o.Now, Retention: o.LogRetention})
	rejected := o.Rejects
	rejected.Items, rejected.Now, rejected.Failed = o.Store, o.Now, o.Events.Failed
	e.Rejects = rejects.New(rejected)
	if tables, ok := o.Store.(store.LayoutReader); ok {
		e.Streams.RecoverFrom(tables, func(prefix string) (string, bool) {
			class, ok := policy.Retention.ClassOfPrefix(prefix)
			return class.Name, ok
		})
	}
	e.Query = query.New(query.Options{
		Reader: o.Store, Catalog: o.Store, Streams: e.Streams, Policy: policy.Retention, Now: o.Now,
		Retention: e.Devices.Retention, Layouts: o.Layouts, Parallel: o.Parallel, Archive: e.archivedTables(o),
	})
	if len(o.CorrectClocks) > 0 {
		e.Clocks = clocks.NewCorrector(clocks.New(o.Store, o.Now), o.CorrectClocks, source{e.Query})
	}
	e.Alerts = alerts.New(alerts.Options{
		Items: o.Store, Devices: e.Devices, Source: source{e.Query}, Now: o.Now, Holder: o.Holder,
		RequestTimeout: o.RequestTimeout, Failed: o.Events.Failed, Deliver: len(o.Notify.Targets) > 0,
	})
	if outbox := e.Alerts.Outbox(); outbox != nil {
		e.Sender = notify.NewSender(notify.Options{
			Items: o.Store, Outbox: outbox, Targets: o.Notify.Targets, Now: o.Now, Holder: o.Holder, URL: o.Notify.URL, Digest: o.Notify.Digest,
			Ended: o.Notify.Ended, Failed: o.Events.Failed, Tenants: e.tenants,
		})
	}
	e.Aggregator = rollup.NewAggregator(rollup.AggregatorOptions{
		Items: reserveOf(o.Store), Source: e.Query, Now: o.Now, Holder: o.Holder, Parallel: o.Parallel, Resent: o.Resent,
	})
	e.fields = fields.New(o.Store, o.SeriesFields)
	routing := router.Options{
		Writer: o.Store, Creator: o.Store, Streams: e.Streams, Policy: policy.Retention, Grid: policy.Grid, Now: o.Now,
		MaxRequests: o.MaxRequests, MaxReadings: o.MaxReadings, Watch: e.Alerts.Observe, Events: o.Events.Router, Layouts: o.Layouts,
		Expire: policy.Drop && !policy.ArchiveFirst, Grace: policy.WithDefaults().Grace, Fields: e.fields,
	}
	if !o.NoRollups {
		routing.Tracker = rollup.NewTracker(o.Store, o.Now)
		e.Rollups = rollup.NewReader(o.Store, e.Query, o.Resent)
	}
	e.trackChanges(o, &routing)
	e.Router = router.New(routing)
	e.wireErasures(o, policy.Grid.Future)
	expirer, expireGrace := expirerOf(o.Store, &routing)
	e.Rotator = rotator.New(rotator.Options{
		Archived: e.archived(), CheckArchive: e.checkArchive(),
		Catalog: o.Store, Creator: o.Store, Lifecycle: o.Store, Items: reserveOf(o.Store), Policy: *policy, Now: o.Now,
		Holder: o.Holder, Parallel: o.Parallel, Expirer: expirer, ExpireGrace: expireGrace,
		TablesInUse:   afterAggregation(e, o.Events.Counted, e.Aggregator.TablesInUse),
		ReadingsInUse: afterAggregation(e, o.Events.Counted, e.Aggregator.ReadingsInUse), Events: e.rotatorEvents(o.Events.Rotator),
	})
}

// reserveOf returns the registry that accepts writes even if the disk is almost full. If the store
// has no such registry, it returns s.
func reserveOf(s store.Store) store.Items {
	if r, ok := s.(store.Reserver); ok {
		return r.Reserve()
	}
	return s
}

// checkAlerts returns a function that evaluates deadman rules, resolves the alerts of deleted or
// changed rules, and stores the last use of keys. The function runs at the start and every minute.
// Without notifiers, it also forgets the former notifiers, until this has succeeded once.
func (e *Engine) checkAlerts(failed func(task string, err error)) func() {
	report := func(task string, err error) {
		if err != nil && failed != nil && e.background.Err() == nil {
			failed(task, err)
		}
	}
	var forgotten atomic.Bool
	forgotten.Store(e.Sender != nil)
	return func() {
		if !forgotten.Load() {
			err := notify.ForgetNotifiers(e.background, e.Store)
			forgotten.Store(err == nil)
			report("former notifiers", err)
		}
		report("deadman rules", e.Alerts.CheckDeadman(e.background))
		report("alerts of retired rules", e.Alerts.ResolveRetired(e.background))
		report("last use of keys", e.Keys.WriteUsed(e.background))
	}
}

// Close stops all jobs, flushes the last-seen times and closes the store.
//
// A running rotation ends after its current action.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		e.stop()
		if e.cron != nil {
			<-e.cron.Stop().Done()
		}
		e.first.Wait() // before the retries, because the first rotation may start some
		e.retries.Wait()
		e.Alerts.Close()
		e.Devices.Close()
		e.Rejects.Close()
		// If WriteUsed fails, the uses of keys in the last minute are lost. Store.Close reports the
		// cause.
		_ = e.Keys.WriteUsed(context.Background())
		// If closeChanges fails, the next process may assign arrivals that are a few seconds in the
		// future.
		_ = e.closeChanges(context.Background())
		e.closeErr = e.Store.Close()
	})
	return e.closeErr
}
