package mqtt

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve/health"
)

// droppedTopic is the topic on which Mosquitto reports the messages that it dropped.
const droppedTopic = "$SYS/broker/publish/messages/dropped"

// qosOf returns the quality of service of a subscription. It is 1 for readings, and 0 for reports
// of dropped messages. Mosquitto drops a report of QoS 1 while its queue is full, and counts the
// report as a dropped message.
func qosOf(filter string) byte {
	if filter == droppedTopic {
		return 0
	}
	return 1
}

// drops records the number of messages that the broker dropped, and sets health.BrokerDropping while the
// number rises.
type drops struct {
	now        func() time.Time
	conditions *health.Conditions
	metrics    *Metrics

	mu         sync.Mutex
	isKnown    bool      // if true, the broker has reported a count
	firstCount int64     // number of drops in the first report since the client or the broker started
	count      int64     // number of drops in the last report
	lastRise   time.Time // time of the last rise of count; zero while the condition is not set
}

// quiet is the time without a rise after which the condition is cleared.
const quiet = 10 * time.Minute

// report records the count in a report of the broker. If the count rose, report sets the condition.
func (d *drops) report(payload []byte) {
	n, err := strconv.ParseInt(strings.TrimSpace(string(payload)), 10, 64)
	if err != nil {
		return // the payload is not a count: another kind of broker uses the topic for something else
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.metrics.dropped.Set(float64(n))
	if d.isKnown && n > d.count {
		d.lastRise = d.now()
		d.conditions.Set(health.BrokerDropping, fmt.Sprintf(
			"the broker dropped %d messages since its last report: for Mosquitto, set max_inflight_messages 1000 and max_queued_messages 0", n-d.count))
	}
	if !d.isKnown || n < d.count {
		d.firstCount = n // this is the first report, or the broker was restarted
	}
	d.isKnown, d.count = true, n
}

// endIfQuiet clears the condition if more time than "quiet" has passed since the last rise of the
// count. Mosquitto reports a count only when it changes, so no report shows that the drops have
// ended.
func (d *drops) endIfQuiet() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.lastRise.IsZero() && d.now().Sub(d.lastRise) > quiet {
		d.lastRise = time.Time{}
		d.conditions.Clear(health.BrokerDropping)
	}
}
