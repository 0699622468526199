package mqtt

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics has the metrics of the broker client and of the listener.
type Metrics struct {
	messages    *prometheus.CounterVec
	seconds     prometheus.Histogram
	pending     prometheus.Gauge
	connected   prometheus.Gauge
	connects    prometheus.Counter
	dropped     prometheus.Gauge
	connections prometheus.Gauge
	refused     prometheus.Counter
}

// Parts selects the parts of this package that run in a process.
type Parts struct{ Client, Listener bool }

// NewMetrics registers the metrics of the parts.
func NewMetrics(reg *prometheus.Registry, parts Parts) *Metrics {
	m := &Metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_mqtt_messages_total", Help: "Messages of MQTT, by outcome. Each failed attempt to store a message counts as failed.",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "varve_mqtt_message_duration_seconds", Help: "Duration of each attempt to store a message.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "varve_mqtt_pending_messages", Help: "Messages that were received and are not acknowledged yet.",
		}),
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "varve_mqtt_connected", Help: "1 while the client is subscribed at the broker, else 0.",
		}),
		connects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "varve_mqtt_connects_total", Help: "Connections of the client to the broker.",
		}),
		dropped: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "varve_mqtt_broker_dropped_messages", Help: "Messages that the broker dropped since its start, as it reports.",
		}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "varve_mqtt_connections", Help: "Devices that are connected to the listener.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "varve_mqtt_refused_total", Help: "Connections to the listener that were refused for their API key.",
		}),
	}
	for _, o := range []Outcome{Stored, Rejected, Unreadable, Misnamed, Unmatched, Forbidden, Ignored, Failed} {
		m.messages.WithLabelValues(string(o))
	}
	reg.MustRegister(m.messages, m.seconds, m.pending)
	if parts.Client {
		reg.MustRegister(m.connected, m.connects, m.dropped)
	}
	if parts.Listener {
		reg.MustRegister(m.connections, m.refused)
	}
	return m
}

func (m *Metrics) received(o Outcome, took time.Duration) {
	m.messages.WithLabelValues(string(o)).Inc()
	m.seconds.Observe(took.Seconds())
}
