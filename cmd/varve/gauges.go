package main

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store/local"
)

const (
	// measureEvery is the shortest time between two measurements that read the store.
	measureEvery = time.Minute
	// sizeEvery is the shortest time between two measurements of sizes that the process has in memory.
	sizeEvery = 5 * time.Second
	// countEvery is the shortest time between two measurements of sizes on DynamoDB. DynamoDB updates
	// the sizes every six hours, and a measurement sends a request per table.
	countEvery = time.Hour
	// measureWithin limits the time of a measurement.
	measureWithin = 30 * time.Second
	// mostAlerts limits the alerts of a severity and a tenant that a measurement reads.
	mostAlerts = 2000
)

// measured is the value of a metric that is read from the store in the background, because a scrape
// must not wait for the store. A scrape starts a measurement if the last one is old, and returns
// the last value. The value is NaN before the first measurement and after a failed one: an old
// value would hide the failure.
type measured struct {
	load  func(ctx context.Context) (float64, error)
	every time.Duration // time from the end of a measurement until the next may start

	mu      sync.Mutex
	running bool      // whether a measurement is running
	at      time.Time // end of the last measurement; zero before the first one
	value   float64
}

func (m *measured) read() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := now(); !m.running && (m.at.IsZero() || at.Sub(m.at) >= m.every || at.Before(m.at)) {
		m.running = true
		go m.measure()
	}
	return m.value
}

func (m *measured) measure() {
	ctx, cancel := context.WithTimeout(context.Background(), measureWithin)
	defer cancel()
	value, err := m.load(ctx)
	if err != nil {
		value = math.NaN()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running, m.at, m.value = false, now(), value
}

// registerEngine adds the metrics of the program and of stored data.
func registerEngine(reg *prometheus.Registry, e *engine.Engine, kind storeKind) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "varve_build_info", Help: "Always 1. The labels have the version of the program.",
		ConstLabels: prometheus.Labels{"version": versionText(), "commit": readVersion().Commit, "goversion": runtime.Version()},
	}, func() float64 { return 1 }))
	sizesEvery := countEvery
	if kind.oneProcess || kind.inProcess {
		sizesEvery = sizeEvery
	}
	gauge := func(name, help string, labels prometheus.Labels, every time.Duration, load func(ctx context.Context) (float64, error)) {
		m := &measured{load: load, every: every, value: math.NaN()}
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, m.read))
	}
	gauge("varve_stored_bytes", "Approximate size of all tables, as varve tables list prints it; NaN if unknown.", nil, sizesEvery,
		func(ctx context.Context) (float64, error) { return storedBytes(ctx, e) })
	gauge("varve_rollups_backlog", "Hours of devices that are due for aggregation; NaN if unknown.", nil, measureEvery,
		func(ctx context.Context) (float64, error) {
			n, err := e.Aggregator.Backlog(ctx)
			return float64(n), err
		})
	registerRejects(reg, e)
	for _, severity := range alerts.Severities() {
		gauge("varve_alerts_open", "Open alerts of all tenants among the newest 2,000 of a severity and tenant; NaN if unknown.",
			prometheus.Labels{"severity": string(severity)}, measureEvery,
			func(ctx context.Context) (float64, error) { return openAlerts(ctx, e, severity) })
	}
}

func storedBytes(ctx context.Context, e *engine.Engine) (bytes float64, err error) {
	list, err := e.Rotator.Tables(ctx)
	for i := range list {
		bytes += float64(list[i].Bytes)
	}
	return bytes, err
}

// openAlerts counts the open alerts of a severity. It reads the newest alerts of the default tenant
// and of each tenant with an API key: at most mostAlerts for each tenant.
func openAlerts(ctx context.Context, e *engine.Engine, severity alerts.Severity) (open float64, err error) {
	keys, err := e.Keys.List(ctx, "")
	if err != nil {
		return 0, err
	}
	tenants := map[string]bool{varve.DefaultTenant: true}
	for i := range keys {
		tenants[keys[i].Tenant] = true
	}
	for tenant := range tenants {
		list := alerts.AlertList{Tenant: tenant, Severity: severity, Limit: pageSize}
		for read := 0; read < mostAlerts; read += pageSize {
			page, err := e.Alerts.Alerts(ctx, list)
			if err != nil {
				return 0, err
			}
			for i := range page.Items {
				if page.Items[i].State() == alerts.Open {
					open++
				}
			}
			if list.Cursor = page.Next; list.Cursor == "" {
				break
			}
		}
	}
	return open, nil
}

type journalSyncs struct {
	store *local.Store
	desc  *prometheus.Desc
}

func newJournalSyncs(s *local.Store) journalSyncs {
	return journalSyncs{s, prometheus.NewDesc("varve_journal_sync_duration_seconds", "Time to write a group of changes to the journal and sync it to disk.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (j journalSyncs) Describe(out chan<- *prometheus.Desc) { out <- j.desc }

// Collect implements prometheus.Collector.
func (j journalSyncs) Collect(out chan<- prometheus.Metric) {
	t := j.store.SyncTimes()
	out <- prometheus.MustNewConstHistogram(j.desc, t.Count, t.Seconds, t.Buckets)
}

func registerRejects(reg *prometheus.Registry, e *engine.Engine) {
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "varve_rejects_stored_total", Help: "Rejected readings whose reject was stored.",
	}, func() float64 { return float64(e.Rejects.Counts().Stored) }))
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "varve_readings_corrected_total", Help: "Live readings whose time was corrected.",
	}, func() float64 { return float64(e.Clocks.Count()) }))
	for _, reason := range rejects.Reasons() {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "varve_rejects_dropped_total", Help: "Rejected readings whose reject was dropped, by reason: buffer, limit or failed.",
			ConstLabels: prometheus.Labels{"reason": string(reason)},
		}, func() float64 { return float64(e.Rejects.Counts().Dropped[reason]) }))
	}
}
