package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/agent/uplink"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/rejects"
)

// metrics has the metrics of an agent, for Prometheus and for the endpoint /healthz.
type metrics struct {
	registry  *prometheus.Registry
	received  *prometheus.CounterVec
	sent      *prometheus.CounterVec
	bytes     prometheus.Counter
	attempts  *prometheus.CounterVec
	postponed prometheus.Counter
	compared  prometheus.Counter
	resent    *prometheus.CounterVec
	runs      *prometheus.CounterVec
	reachable prometheus.Gauge
	lastError atomic.Pointer[string] // error of the last attempt to send; nil before the first one, and after a success
}

func newMetrics(stats func() outbox.Stats, maxBytes int64) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_agent_received_readings_total", Help: "Readings of local devices, by door and outcome.",
		}, []string{"door", "outcome"}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_agent_sent_readings_total", Help: "Readings on which the server has a verdict, by outcome.",
		}, []string{"outcome"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "varve_agent_sent_bytes_total", Help: "Compressed bytes of bodies that the server answered.",
		}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_agent_uploads_total", Help: "Requests to the server, by result.",
		}, []string{"result"}),
		postponed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "varve_agent_postponed_readings_total", Help: "Readings that were postponed, because the server could not store them.",
		}),
		compared: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "varve_agent_compared_readings_total", Help: "Confirmed readings that were compared with the server.",
		}),
		resent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_agent_resent_readings_total", Help: "Readings that were resent after a comparison, by outcome. The server had lost the stored ones.",
		}, []string{"outcome"}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_agent_reconciliations_total", Help: "Comparisons of confirmed readings with the server, by result.",
		}, []string{"result"}),
		reachable: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "varve_agent_server_reachable", Help: "1 if the last request to the server succeeded, else 0.",
		}),
	}
	gauge := func(name, help string, value func(outbox.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(stats()) })
	}
	m.registry.MustRegister(m.received, m.sent, m.bytes, m.attempts, m.postponed, m.compared, m.resent, m.runs, m.reachable,
		gauge("varve_agent_outbox_readings", "Readings that the server has not confirmed.", func(s outbox.Stats) float64 { return float64(s.Readings) }),
		gauge("varve_agent_outbox_postponed_readings", "Unconfirmed readings that are postponed.", func(s outbox.Stats) float64 { return float64(s.Postponed) }),
		gauge("varve_agent_outbox_bytes", "Size of the outbox.", func(s outbox.Stats) float64 { return float64(s.Bytes) }),
		gauge("varve_agent_outbox_kept_bytes", "Size of the confirmed readings in the outbox. They are removed when space is needed.", func(s outbox.Stats) float64 { return float64(s.KeptBytes) }),
		gauge("varve_agent_outbox_kept_readings", "Confirmed readings in the outbox.", func(s outbox.Stats) float64 { return float64(s.KeptReadings) }),
		gauge("varve_agent_outbox_uncompared_readings", "Confirmed readings that were removed without a comparison since the start.", func(s outbox.Stats) float64 { return float64(s.Uncompared) }),
		gauge("varve_agent_outbox_max_bytes", "Maximum size of the outbox.", func(outbox.Stats) float64 { return float64(maxBytes) }),
		gauge("varve_agent_outbox_dropped_readings", "Readings that were dropped since the start, because the outbox was full.", func(s outbox.Stats) float64 { return float64(s.Dropped) }),
		gauge("varve_agent_outbox_damaged_bytes", "Damaged bytes of the outbox that were skipped since the start.", func(s outbox.Stats) float64 { return float64(s.DamagedBytes) }),
	)
	for _, result := range []string{"answered", "failed"} {
		m.attempts.WithLabelValues(result)
	}
	for _, result := range []string{"completed", "refused", "failed"} {
		m.runs.WithLabelValues(result)
	}
	return m
}

// judged counts the verdicts on a batch of a local device. It logs the first rejection of the batch, but at
// most one per door in repeatEvery.
func (a *Agent) judged(door string, b *wire.Batch) {
	counts := map[varve.Outcome]int{}
	for i := range b.Verdicts {
		v := &b.Verdicts[i]
		if counts[v.Outcome]++; v.Outcome == varve.Rejected && counts[v.Outcome] == 1 {
			if leftOut, due := a.failures.due("rejected " + door); due {
				a.opts.Log.Warn().Str("door", door).Str("stream", b.Readings[i].Stream).Str("device", b.Readings[i].Device).
					Str("code", string(v.Code)).Str("reason", v.Message).Int("left_out", leftOut).Msg("reading of a device rejected")
			}
		}
	}
	for outcome, n := range counts {
		a.metrics.received.WithLabelValues(door, outcome.String()).Add(float64(n))
	}
}

// unreadable counts and logs MQTT messages that cannot be read. It implements mqtt.RejectStore.
type unreadable struct{ agent *Agent }

// Add counts messages, and logs them as often as logLimit permits. It stores none of them. A device gets
// the reason only if it uses MQTT 5.
func (u unreadable) Add(_ context.Context, list []rejects.Reject) ([]bool, error) {
	for i := range list {
		r := &list[i]
		u.agent.metrics.received.WithLabelValues("mqtt", "rejected").Inc()
		if leftOut, due := u.agent.failures.due("unreadable"); due {
			u.agent.opts.Log.Warn().Str("topic", r.From).Str("code", string(r.Code)).Str("reason", r.Message).Int("left_out", leftOut).Msg("message rejected")
		}
	}
	return make([]bool, len(list)), nil
}

// outboxEvents returns callbacks that log the events of the outbox.
func (a *Agent) outboxEvents() outbox.Events {
	log := a.opts.Log
	return outbox.Events{
		Dropped: func(readings, bytes int64) {
			if leftOut, due := a.failures.due("dropped"); due {
				log.Error().Int64("readings", readings).Int64("bytes", bytes).Int("left_out", leftOut).
					Str("remedy", "raise outbox.max_bytes, or set outbox.full to refuse").Msg("oldest readings dropped, outbox full")
			}
		},
		Damaged: func(file string, from, to int64) {
			log.Error().Str("file", file).Int64("from", from).Int64("to", to).Msg("outbox damaged, bytes skipped")
		},
		Torn: func(file string, at, bytes int64) {
			log.Warn().Str("file", file).Int64("at", at).Int64("bytes", bytes).Msg("interrupted write found")
		},
		Failed: func(err error) { log.Error().Err(err).Msg("outbox failed, nothing lost") },
	}
}

// uplinkEvents returns callbacks that count and log the events of the sender.
func (a *Agent) uplinkEvents() uplink.Events {
	log, m := a.opts.Log, a.metrics
	return uplink.Events{
		Sent: func(t wire.Tally, bytes int) {
			addTally(m.sent, t)
			m.bytes.Add(float64(bytes))
			m.attempts.WithLabelValues("answered").Inc()
			m.reachable.Set(1)
			if m.lastError.Swap(nil) != nil {
				log.Info().Msg("server reached")
			}
		},
		Failed: func(err error, retry time.Duration) {
			text := err.Error()
			m.attempts.WithLabelValues("failed").Inc()
			m.reachable.Set(0)
			m.lastError.Store(&text)
			if leftOut, due := a.failures.due("upload"); due {
				log.Warn().Err(err).Stringer("retry", retry.Round(time.Millisecond)).Int("left_out", leftOut).Msg("upload failed, retrying")
			}
		},
		Rejected: func(stream string, r *wire.Reject) {
			if leftOut, due := a.failures.due("rejected by server"); due {
				log.Warn().Str("stream", stream).Str("code", r.Code).Str("reason", r.Message).Int("left_out", leftOut).Msg("reading rejected by the server")
			}
		},
		Postponed: func(stream string, readings int, reason error) {
			m.postponed.Add(float64(readings))
			if leftOut, due := a.failures.due("postponed"); due {
				log.Warn().Err(reason).Str("stream", stream).Int("readings", readings).Int("left_out", leftOut).Msg("readings postponed")
			}
		},
		Reconciled: a.reconciled,
	}
}

func addTally(counters *prometheus.CounterVec, t wire.Tally) {
	for outcome, n := range map[string]int64{"stored": t.Stored, "duplicate": t.Duplicates, "rejected": t.Rejected, "queued": t.Queued} {
		counters.WithLabelValues(outcome).Add(float64(n))
	}
}

// reconciled counts a comparison of kept readings with the server. It logs the first refusal, resent
// readings, and hours that were not compared.
func (a *Agent) reconciled(r *uplink.Reconciliation) {
	log, m := a.opts.Log, a.metrics
	m.compared.Add(float64(r.Readings))
	addTally(m.resent, r.Resent)
	switch {
	case r.Refused:
		m.runs.WithLabelValues("refused").Inc()
		a.refusal.Do(func() {
			log.Warn().Err(r.Err).Str("remedy", "set outbox.keep to 0 if the server cannot compare readings").Msg("comparison refused by the server")
		})
	case r.Err != nil:
		m.runs.WithLabelValues("failed").Inc()
	default:
		m.runs.WithLabelValues("completed").Inc()
		m.reachable.Set(1)
		m.lastError.Store(nil)
	}
	if r.Resent.Total() > 0 {
		level := zerolog.InfoLevel
		if r.Resent.Stored > 0 {
			level = zerolog.WarnLevel
		}
		log.WithLevel(level).Int64("resent", r.Resent.Total()).Int64("lost", r.Resent.Stored).Int64("compared", r.Readings).Msg("readings resent after a comparison")
	}
	if r.Uncompared > 0 {
		log.Warn().Int64("readings", r.Uncompared).Msg("hours not compared, too many readings")
	}
}

// logLimit limits how often events of the same kind are logged.
type logLimit struct {
	mu   sync.Mutex
	last map[string]*logged
}

type logged struct {
	at      time.Time
	leftOut int
}

// repeatEvery is the shortest interval between logs of the same kind.
const repeatEvery = 10 * time.Second

// due reports whether an event is logged now, and the number of events omitted since the last logged one.
func (l *logLimit) due(kind string) (leftOut int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[string]*logged{}
	}
	now, r := time.Now(), l.last[kind]
	if r != nil && now.Sub(r.at) < repeatEvery {
		r.leftOut++
		return 0, false
	}
	if r != nil {
		leftOut = r.leftOut
	}
	l.last[kind] = &logged{at: now}
	return leftOut, true
}
