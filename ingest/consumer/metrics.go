package consumer

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics has the metrics of a consumer.
type Metrics struct {
	received prometheus.Counter
	done     prometheus.Counter
	failures prometheus.Counter

	mu   sync.Mutex
	lags map[string]time.Duration // lag by shard of the stream; the key "" stands for a queue
}

// NewMetrics registers the metrics of a consumer: kinesis or sqs.
func NewMetrics(reg *prometheus.Registry, source string) *Metrics {
	labels := prometheus.Labels{"source": source}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels})
		reg.MustRegister(c)
		return c
	}
	m := &Metrics{
		received: counter("varve_ingest_records_received_total", "Records that were received, by source."),
		done:     counter("varve_ingest_records_done_total", "Records that were acknowledged, by source: their readings are durable, or are rejects."),
		failures: counter("varve_ingest_failures_total", "Failures after which a consumer retries, by source."),
		lags:     map[string]time.Duration{},
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "varve_ingest_lag_seconds", Help: "Age of the oldest record that this process has received last, by source.", ConstLabels: labels,
	}, m.lag))
	if source == "kinesis" {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "varve_ingest_shards", Help: "Shards that this process reads, by source.", ConstLabels: labels,
		}, func() float64 {
			m.mu.Lock()
			defer m.mu.Unlock()
			return float64(len(m.lags))
		}))
	}
	return m
}

// Received counts queue records that were received from a shard or a queue. The argument "lag" is the
// delay of the consumer. For a shard, it is the time from the last received record to the end of the
// shard. For a queue, it is the age of the oldest received message.
func (m *Metrics) Received(shard string, records int, lag time.Duration) {
	m.received.Add(float64(records))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lags[shard] = max(lag, 0)
}

// Done counts queue records that were acknowledged.
func (m *Metrics) Done(records int) { m.done.Add(float64(records)) }

// Failed counts a failed attempt of the consumer.
func (m *Metrics) Failed() { m.failures.Inc() }

// Forget removes a shard that this process no longer reads.
func (m *Metrics) Forget(shard string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.lags, shard)
}

func (m *Metrics) lag() (seconds float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.lags {
		seconds = max(seconds, d.Seconds())
	}
	return seconds
}
