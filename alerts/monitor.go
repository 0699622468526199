package alerts

import (
	"context"
	"sync"
	"time"

	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

// Options configure a monitor. All but Deliver and Failed are required.
type Options struct {
	Items   store.Items
	Devices *devices.Registry
	Source  Source
	Now     func() time.Time
	Holder  string // unique name of this process, for leases
	// RequestTimeout is the time limit of a request that writes readings. A reading may be stored
	// up to this long after its arrival.
	RequestTimeout time.Duration
	// Deliver, if true, records opened and resolved alerts in the outbox; see Monitor.Outbox.
	Deliver bool
	// Failed, if set, is called when a background task fails. The task is retried.
	Failed func(task string, err error)
}

// Monitor stores the rules and alerts of all tenants, and evaluates the rules. It is safe
// for concurrent use.
type Monitor struct {
	opts    Options
	rules   ruleStore
	stores  stores
	gaps    gapMeter
	retirer retirer
	series  seriesLocks
	newest  newestSamples
	deadman deadmanChecker
	closing sync.Once
}

// New returns a monitor. The caller closes it before the registry of devices.
func New(o Options) *Monitor {
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	m := &Monitor{opts: o}
	m.rules = ruleStore{items: o.Items, now: o.Now, cache: ruleCache{tenants: map[string]*ruleSet{}}}
	m.stores.records = recordStore{items: o.Items}
	m.stores.alerts = &alertStore{items: o.Items, records: m.stores.records, time: m.time}
	if o.Deliver {
		m.stores.alerts.outbox = &outbox{items: o.Items, now: o.Now}
	}
	m.stores.atomic, _ = o.Items.(store.AtomicItems)
	m.gaps = gapMeter{source: o.Source, devices: o.Devices, now: o.Now}
	m.retirer = retirer{rules: &m.rules, alerts: m.stores.alerts, now: o.Now, failed: o.Failed}
	m.deadman = deadmanChecker{
		deadmanSources: deadmanSources{stores: m.stores, devices: o.Devices, source: o.Source, now: o.Now, requestTime: o.RequestTimeout},
		rules:          &m.rules,
		leases:         lease.Manager{Items: o.Items, Now: o.Now, Holder: o.Holder, TTL: deadmanTTL},
	}
	return m
}

// Close waits for a check of deadman rules to end, and releases their lease. Another process can
// then take over immediately.
func (m *Monitor) Close() {
	m.closing.Do(func() {
		if err := m.deadman.close(); err != nil {
			m.opts.Failed("deadman rules", err)
		}
	})
}

// Outbox returns the outbox, or nil without Options.Deliver.
func (m *Monitor) Outbox() *Outbox {
	if m.stores.alerts.outbox == nil {
		return nil
	}
	return &Outbox{outbox: m.stores.alerts.outbox, alerts: m.stores.alerts, rules: &m.rules}
}

// CheckDeadman evaluates the deadman rules. It opens alerts for devices that have become silent,
// and resolves the alerts of devices that report again. The caller calls it every minute. It does
// nothing if another check is running in this process, or if another process has the lease for
// checks.
func (m *Monitor) CheckDeadman(ctx context.Context) error { return m.deadman.checkAll(ctx) }

// time returns the current time to the millisecond, as items store it.
func (m *Monitor) time() time.Time { return m.opts.Now().UTC().Truncate(time.Millisecond) }
