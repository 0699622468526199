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
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/fields"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// Options say what to wire. Store is required.
type Options struct {
	// Store keeps everything. The engine owns it from Open on, and closes it
	// even if Open fails.
	Store store.Store
	// Retention is the classes and streams; nil is one class that keeps
	// readings for a year, with prefix varve.
	Retention *retention.Policy
	// Grid shapes the tables; nil is grid.DefaultPolicy.
	Grid *grid.Policy
	// Drop, Seal, Grace and MaxDrops are as in rotator.Policy.
	Drop     bool
	Seal     time.Duration
	Grace    time.Duration
	MaxDrops int
	// LogRetention is as in devicelog.Options.Retention.
	LogRetention time.Duration
	// Schedule is when the rotator runs; "" is @hourly. It also runs once in
	// Open.
	Schedule string
	// MaxRequests and MaxReadings bound what is under way; see router.Options.
	MaxRequests int
	MaxReadings int
	// SeriesFields is how many different fields a series may have; see fields.New.
	SeriesFields int
	// Parallel is how many tables one query reads at a time, and one rotation
	// makes; see query.Options and rotator.Options.
	Parallel int
	// Layouts are how the readings of streams lie, by name; see router.Options.
	Layouts map[string]store.Layout
	// NoRollups: readings are not counted in roll-ups.
	NoRollups bool
	// Resent is how roll-ups count what may be a copy of a reading that is gone.
	Resent rollup.Resent
	// Holder names this process in leases; "" makes a name up. Processes that
	// share a store must have different ones.
	Holder string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Conditions receives the conditions of the parts; nil is a set of the
	// engine's own.
	Conditions *health.Conditions
	Events     Events
}

// Events gathers the events of the parts.
type Events struct {
	Router  router.Events
	Rotator rotator.Events
	// Failed, if set, is called when a background task of devices or alerts fails.
	Failed func(task string, err error)
	// Counted: marks of roll-ups were taken, or it failed. Nil is skipped.
	Counted func(marks int, took time.Duration, err error)
	// Mended: the registry lacked what tables hold of so many streams, and has it
	// now; or they could not be compared. Nil is skipped.
	Mended func(streams int, err error)
	// Unclaimed: Open found tables of this deployment whose prefix belongs to
	// no class that is configured; what is in them is neither found nor
	// dropped. It is called once for each such prefix. Nil is skipped.
	Unclaimed func(prefix string, tables int, readings int64)
}

// DefaultRetention is how long readings are kept if nothing is configured.
const DefaultRetention = 365 * 24 * time.Hour

// DefaultPolicy is the retention policy if nothing is configured.
func DefaultPolicy() *retention.Policy {
	return &retention.Policy{
		Prefix:  "varve",
		Classes: []retention.Class{{Name: retention.DefaultClass, Retention: DefaultRetention}},
	}
}

func (o Options) withDefaults() Options {
	if o.Retention == nil {
		o.Retention = DefaultPolicy()
	}
	if o.Grid == nil {
		layout := grid.DefaultPolicy()
		o.Grid = &layout
	}
	if o.Schedule == "" {
		o.Schedule = "@hourly"
	}
	if o.Holder == "" {
		host, _ := os.Hostname() // a name that is only half good will do
		o.Holder = fmt.Sprintf("%s-%d-%x", host, os.Getpid(), rand.Uint64())
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Conditions == nil {
		o.Conditions = health.New(health.Options{Now: o.Now})
	}
	if o.Events.Mended == nil {
		o.Events.Mended = func(int, error) {}
	}
	if o.Events.Counted == nil {
		o.Events.Counted = func(int, time.Duration, error) {}
	}
	return o
}

// Engine is Varve, wired. Its parts are safe for concurrent use.
type Engine struct {
	Store   store.Store
	Streams *streams.Registry
	Keys    *apikeys.Registry
	Router  *router.Router
	Query   *query.Engine
	Rotator *rotator.Rotator
	Devices *devices.Registry
	Logs    *devicelog.Log
	Alerts  *alerts.Monitor
	Rollups *rollup.Reader // nil: none are kept
	Counter *rollup.Worker
	Now     func() time.Time
	// Conditions are those that hold now.
	Conditions *health.Conditions

	cron       *cron.Cron
	first      sync.WaitGroup // what is done once, at the start
	background context.Context
	stop       context.CancelFunc
	retries    sync.WaitGroup
	retrying   atomic.Bool
	counting   sync.Mutex
	closing    sync.Once
	closeErr   error
}

// Open wires the parts, runs the rotator once so that tables are there, and
// starts its schedule. If the first run fails, Open succeeds all the same: the
// router makes tables that are missing, the next run goes on with the others,
// and the condition RotationFailing holds.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o = o.withDefaults()
	policy := rotator.Policy{
		Grid: *o.Grid, Retention: o.Retention, Drop: o.Drop, Seal: o.Seal, Grace: o.Grace, MaxDrops: o.MaxDrops,
	}
	if !o.NoRollups {
		policy.Count = rollup.CountedFor
	}
	schedule, err := rotator.ParseSchedule(o.Schedule)
	for stream, layout := range o.Layouts {
		if bad := layout.Validate(); bad != nil {
			err = errors.Join(err, fmt.Errorf("stream %s: %w", stream, bad))
		}
	}
	if err = errors.Join(err, policy.Validate()); err != nil {
		return nil, errors.Join(err, o.Store.Close())
	}
	e := &Engine{Store: o.Store, Streams: streams.New(o.Store, o.Now), Keys: apikeys.New(o.Store, o.Now), Now: o.Now, Conditions: o.Conditions}
	e.wire(o, policy)
	e.background, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	// What goes wrong is in the rotator's events, its health and the conditions.
	_ = e.rotate()
	e.mendStreams(ctx, o.Events.Mended)
	// What keeps it from looking has kept the rotator from running, and shows.
	_ = tellUnclaimed(ctx, o)
	e.cron = cron.New(cron.WithLocation(time.UTC))
	e.cron.Schedule(schedule, cron.FuncJob(func() {
		// What goes wrong is in the rotator's events and health.
		_ = e.rotate()
	}))
	silence := e.checkAlerts(o.Events.Failed)
	e.cron.Schedule(cron.Every(time.Minute), cron.FuncJob(silence))
	e.cron.Schedule(cron.Every(countEvery), cron.FuncJob(func() { e.count(e.background, o.Events.Counted) }))
	e.cron.Start()
	e.first.Go(silence)
	return e, nil
}

// wire makes the parts.
func (e *Engine) wire(o Options, policy rotator.Policy) {
	e.Devices = devices.New(devices.Options{Items: o.Store, Policy: o.Retention, Now: o.Now, Failed: o.Events.Failed})
	e.Logs = devicelog.New(devicelog.Options{Items: o.Store, Now: o.Now, Retention: o.LogRetention})
	if tables, ok := o.Store.(store.Surveyor); ok {
		e.Streams.RecoverFrom(tables, func(prefix string) (string, bool) {
			class, ok := o.Retention.ClassOfPrefix(prefix)
			return class.Name, ok
		})
	}
	e.Query = query.New(query.Options{
		Reader: o.Store, Catalog: o.Store, Streams: e.Streams, Policy: o.Retention, Now: o.Now,
		Retention: e.Devices.Retention, Layouts: o.Layouts, Parallel: o.Parallel,
	})
	e.Alerts = alerts.New(alerts.Options{
		Items: o.Store, Devices: e.Devices, Source: source{e.Query}, Now: o.Now, Holder: o.Holder, Failed: o.Events.Failed,
	})
	e.Counter = rollup.NewWorker(rollup.WorkerOptions{
		Items: reserveOf(o.Store), Raw: e.Query, Now: o.Now, Holder: o.Holder, Parallel: o.Parallel, Resent: o.Resent,
	})
	routing := router.Options{
		Writer: o.Store, Creator: o.Store, Streams: e.Streams, Policy: o.Retention, Grid: *o.Grid, Now: o.Now,
		MaxRequests: o.MaxRequests, MaxReadings: o.MaxReadings, Watch: e.Alerts.Observe, Events: o.Events.Router, Layouts: o.Layouts,
		Expire: o.Drop, Grace: policy.WithDefaults().Grace, Fields: fields.New(o.Store, o.SeriesFields),
	}
	if !o.NoRollups {
		routing.Marker = rollup.NewMarker(o.Store, o.Now)
		e.Rollups = rollup.NewReader(o.Store, e.Query, o.Resent)
	}
	e.Router = router.New(routing)
	e.Rotator = rotator.New(rotator.Options{
		Catalog: o.Store, Creator: o.Store, Lifecycle: o.Store, Items: reserveOf(o.Store), Policy: policy, Now: o.Now,
		Holder: o.Holder, Parallel: o.Parallel, Needed: e.needed(o.Events.Counted), Events: e.rotatorEvents(o.Events.Rotator),
	})
}

// reserveOf returns the registry for what makes room.
func reserveOf(s store.Store) store.Items {
	if r, ok := s.(store.Reserver); ok {
		return r.Reserve()
	}
	return s
}

// rotate runs the rotator. If another process is doing so, it runs when that has
// ended: each process sees for itself that the tables are there.
func (e *Engine) rotate() error {
	_, err := e.Rotator.Run(e.background)
	if !errors.Is(err, lease.ErrHeld) {
		return err
	}
	if e.retrying.CompareAndSwap(false, true) {
		e.retries.Go(func() {
			defer e.retrying.Store(false)
			e.rotateLater()
		})
	}
	return nil
}

// rotateLater runs the rotator as soon as no other process does.
func (e *Engine) rotateLater() {
	for {
		timer := time.NewTimer(rotateAgain/2 + rand.N(rotateAgain))
		select {
		case <-e.background.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		// What goes wrong is in the rotator's events and health.
		if _, err := e.Rotator.Run(e.background); !errors.Is(err, lease.ErrHeld) {
			return
		}
	}
}

// rotateAgain is about how long to wait for another process's rotation to end.
const rotateAgain = 20 * time.Second

// checkAlerts returns what looks after deadman rules and the alerts of rules that
// were deleted or changed, which it does at the start and every minute.
func (e *Engine) checkAlerts(failed func(task string, err error)) func() {
	report := func(task string, err error) {
		if err != nil && failed != nil && e.background.Err() == nil {
			failed(task, err)
		}
	}
	return func() {
		report("deadman rules", e.Alerts.CheckDeadman(e.background))
		report("alerts of retired rules", e.Alerts.ResolveRetired(e.background))
	}
}

// Close stops the schedule, waits for a run that is under way to end its step,
// writes when devices were last seen, and closes the store.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		e.stop()
		if e.cron != nil {
			<-e.cron.Stop().Done()
		}
		e.retries.Wait()
		e.first.Wait()
		e.Alerts.Close()
		e.Devices.Close()
		e.closeErr = e.Store.Close()
	})
	return e.closeErr
}
