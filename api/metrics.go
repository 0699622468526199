package api

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/rotator"
)

// metrics has the Prometheus metrics that requests and verdicts change.
type metrics struct {
	outcomes [4]prometheus.Counter // indexed by varve.Outcome
	rejects  *prometheus.CounterVec
	requests *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	unknown  *prometheus.CounterVec

	doorReadings *prometheus.CounterVec // number of readings by door and outcome
	doorRejects  *prometheus.CounterVec // number of rejected readings by door and code
	doorReceived *prometheus.CounterVec // number of received readings by door
	doorLag      *lagCollector
}

func newMetrics(reg *prometheus.Registry, rot *rotator.Rotator, conditions *health.Conditions) *metrics {
	m := &metrics{
		rejects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_readings_rejected_total", Help: "Readings rejected, by code.",
		}, []string{"code"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "varve_http_request_duration_seconds", Help: "Time to answer, by route and status.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
		}, []string{"route", "status"}),
	}
	m.refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "varve_requests_refused_total", Help: "Requests refused for where they come from or for their API key, by status.",
	}, []string{"status"})
	m.unknown = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "varve_requests_unknown_total", Help: "Requests without a route, by status: 404 for a wrong path, 405 for a wrong method.",
	}, []string{"status"})
	// These counters exist before the first request that they count, so that a rise from 0 is visible.
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		m.unknown.WithLabelValues(strconv.Itoa(status))
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		m.refusals.WithLabelValues(strconv.Itoa(status))
	}
	readings := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "varve_readings_total", Help: "Readings submitted, by outcome.",
	}, []string{"outcome"})
	for o := varve.Stored; o <= varve.Rejected; o++ {
		m.outcomes[o] = readings.WithLabelValues(o.String())
	}
	m.addDoors(reg)
	reg.MustRegister(readings, m.rejects, m.requests, m.refusals, m.unknown, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, value func(rotator.Health) float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return value(rot.Health()) }))
	}
	gauge("varve_rotation_last_success_timestamp_seconds", "Time of the rotator's last success; 0 means never.", func(h rotator.Health) float64 {
		if h.LastSuccess.IsZero() {
			return 0
		}
		return float64(h.LastSuccess.Unix())
	})
	gauge("varve_tables_ready_ahead", "Existing tables of the coming arrival months, tables.months_ahead of them.", func(h rotator.Health) float64 { return float64(h.Ahead.Existing) })
	gauge("varve_tables_needed_ahead", "Required tables of the coming arrival months, tables.months_ahead of them.", func(h rotator.Health) float64 { return float64(h.Ahead.Wanted) })
	gauge("varve_tables", "Tables there are.", func(h rotator.Health) float64 { return float64(h.Tables) })
	for _, name := range health.Names() {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "varve_condition", Help: "1 while the condition holds, else 0.",
			ConstLabels: prometheus.Labels{"condition": string(name)},
		}, func() float64 { return conditionValue(conditions, name) }))
	}
	return m
}

func (m *metrics) addDoors(reg *prometheus.Registry) {
	m.doorReadings = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "varve_door_readings_total", Help: "Readings submitted, by door and outcome.",
	}, []string{"door", "outcome"})
	m.doorRejects = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "varve_door_readings_rejected_total", Help: "Readings rejected, by door and code.",
	}, []string{"door", "code"})
	m.doorReceived = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "varve_door_readings_received_total", Help: "Readings received, by door, before they are stored. A reading counts each time it is sent.",
	}, []string{"door"})
	m.doorLag = newLagCollector()
	reg.MustRegister(m.doorReadings, m.doorRejects, m.doorReceived, m.doorLag)
}

// conditionValue returns 1 while a condition is set, else 0.
func conditionValue(conditions *health.Conditions, name health.Name) float64 {
	if slices.ContainsFunc(conditions.List(), func(c health.Condition) bool { return c.Name == name }) {
		return 1
	}
	return 0
}

// route returns a function that records the status and the duration of the requests of one route.
func (m *metrics) route(pattern string) func(status int, took time.Duration) {
	var observers sync.Map // prometheus.Observer by HTTP status
	return func(status int, took time.Duration) {
		o, ok := observers.Load(status)
		if !ok {
			o, _ = observers.LoadOrStore(status, m.requests.WithLabelValues(pattern, strconv.Itoa(status)))
		}
		o.(prometheus.Observer).Observe(took.Seconds())
	}
}

// refused counts a request that was refused before routing.
func (m *metrics) refused(err error) {
	m.refusals.WithLabelValues(strconv.Itoa(statusOf(classify(err)))).Inc()
}

type door string

// The doors. A replay of rejects counts as a door, too.
const (
	doorHTTP     door = "http"
	doorInflux   door = "influx"
	doorReplay   door = "replay"
	doorFirehose door = "firehose"
	doorIoT      door = "iot"
	doorKinesis  door = "kinesis"
	doorSQS      door = "sqs"
	doorMQTT     door = "mqtt"
)

// received returns a function that counts the received readings of a door.
func (m *metrics) received(d door) func(readings int) {
	c := m.doorReceived.WithLabelValues(string(d))
	return func(readings int) { c.Add(float64(readings)) }
}

// verdicts counts the verdicts of a batch that arrived through a door, and the lag of the stored
// readings. It returns the number of rejected readings.
func (m *metrics) verdicts(d door, b *wire.Batch) (rejected int) {
	var counts [4]int
	for i := range b.Verdicts {
		v := &b.Verdicts[i]
		counts[v.Outcome]++
		if v.Outcome == varve.Rejected {
			m.rejects.WithLabelValues(string(v.Code)).Inc()
			m.doorRejects.WithLabelValues(string(d), string(v.Code)).Inc()
		}
	}
	for o := varve.Stored; o <= varve.Rejected; o++ {
		if counts[o] > 0 {
			m.outcomes[o].Add(float64(counts[o]))
			m.doorReadings.WithLabelValues(string(d), o.String()).Add(float64(counts[o]))
		}
	}
	if counts[varve.Stored] > 0 {
		m.doorLag.addBatch(d, b)
	}
	return counts[varve.Rejected]
}
