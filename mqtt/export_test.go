package mqtt

import "github.com/prometheus/client_golang/prometheus/testutil"

// Received returns the number of received messages with the given outcome.
func (m *Metrics) Received(o Outcome) int {
	return int(testutil.ToFloat64(m.messages.WithLabelValues(string(o))))
}

// Connections returns the number of connected devices.
func (m *Metrics) Connections() int { return int(testutil.ToFloat64(m.connections)) }
