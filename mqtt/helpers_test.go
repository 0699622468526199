package mqtt_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	v5 "github.com/eclipse/paho.golang/paho"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/mqtt"
	"github.com/varvedb/varve/mqtt/topic"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// world is a receiver over an engine in memory.
type world struct {
	engine     *engine.Engine
	ingester   *ingest.Ingester
	receiver   *mqtt.Receiver
	metrics    *mqtt.Metrics
	conditions *health.Conditions

	mu   sync.Mutex
	fail error // if set, Add fails with this error
}

// Add implements mqtt.RejectStore with the rejects of the engine.
func (w *world) Add(ctx context.Context, list []rejects.Reject) ([]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return nil, w.fail
	}
	return w.engine.Rejects.Add(ctx, list)
}

// newWorld returns a world that accepts the given number of concurrent writes. Its clock always shows
// noon.
func newWorld(t *testing.T, writes int) *world {
	t.Helper()
	return newWorldAt(t, writes, clock)
}

// newWorldAt is like newWorld, but the world has the given clock.
func newWorldAt(t *testing.T, writes int, clock func() time.Time) *world {
	t.Helper()
	return newWorldOver(t, mem.New(clock), writes, clock)
}

// newWorldOver is like newWorldAt, but the world has the given store.
func newWorldOver(t *testing.T, s store.Store, writes int, clock func() time.Time) *world {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Store: s, Now: clock, MaxRequests: writes, Rejects: rejects.Options{Limit: 100, Retention: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{engine: e, metrics: mqtt.NewMetrics(prometheus.NewRegistry(), mqtt.Parts{Client: true, Listener: true}), conditions: health.New(health.Options{})}
	w.ingester = ingest.New(ingest.Options{Router: e.Router, Budget: wire.NewBudget(1 << 20), Now: clock, Rejects: e.Rejects, Door: "mqtt"})
	var table topic.Table
	for _, r := range []topic.Rule{
		{Pattern: "varve/{stream}/{device}"}, {Pattern: "t/{tenant}/{stream}/{device}"}, {Pattern: "users/{stream}", Device: "{user}"}, {Pattern: "v1/devices/me/telemetry", Payload: "thingsboard", Stream: "telemetry", Device: "{client}"},
	} {
		route, err := r.Compile()
		if err != nil {
			t.Fatal(err)
		}
		table = append(table, route)
	}
	w.receiver = mqtt.NewReceiver(mqtt.ReceiverOptions{
		Ingester: w.ingester, Table: table, Now: clock, MaxMessage: 1000, Metrics: w.metrics, Rejects: w,
	})
	return w
}

// failRejects makes the recording of rejects fail with an error. If err is nil, recording succeeds.
func (w *world) failRejects(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *world) rejected(t *testing.T) []rejects.Reject {
	t.Helper()
	page, err := w.engine.Rejects.List(t.Context(), rejects.Query{Tenant: varve.DefaultTenant, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

func (w *world) stored(t *testing.T, tenant, device string) (n int) {
	t.Helper()
	rows, err := w.engine.Query.Open(t.Context(), query.Query{
		Series: varve.Series{Tenant: tenant, Stream: "w", Device: device}, Window: varve.Window{To: noon.Add(time.Hour)}, Consistent: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for {
		page, err := rows.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return n
		}
		n += len(page)
	}
}

// occupy begins sessions until the ingester refuses another session. The returned function ends the
// sessions.
func (w *world) occupy(t *testing.T) (release func()) {
	t.Helper()
	var held []*ingest.Session
	for {
		s, err := w.ingester.Begin(apikeys.Everything())
		if err != nil {
			break
		}
		held = append(held, s)
	}
	return func() {
		for _, s := range held {
			s.Close()
		}
	}
}

// reading returns a reading as JSON. Its time is an hour before noon, plus i milliseconds.
func reading(i int) string {
	return fmt.Sprintf(`{"time":%d,"fields":{"a":%d}}`, noon.Add(-time.Hour).UnixMilli()+int64(i), i)
}

// within waits until a condition holds. After 20 seconds, the test fails.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited 20 s for: %s", what)
		}
	}
}

type device struct {
	*v5.Client
	received chan *v5.Publish
	ended    chan byte       // the reason code of the server's DISCONNECT, or 0 if the connection failed
	open     context.Context // done when the connection has ended
}

// connect connects a device, and returns the reason code of the answer.
func connect(t *testing.T, address, id, user, password string) (d *device, code byte) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	open, end := context.WithCancel(t.Context())
	d = &device{open: open, received: make(chan *v5.Publish, 10), ended: make(chan byte, 10)}
	d.Client = v5.NewClient(v5.ClientConfig{
		Conn: conn, ClientID: id, PacketTimeout: 20 * time.Second,
		OnPublishReceived: []func(v5.PublishReceived) (bool, error){func(p v5.PublishReceived) (bool, error) {
			d.received <- p.Packet
			return true, nil
		}},
		OnServerDisconnect: func(x *v5.Disconnect) { d.ended <- x.ReasonCode; end() },
		OnClientError:      func(error) { d.ended <- 0; end() },
	})
	packet := &v5.Connect{ClientID: id, KeepAlive: 30, CleanStart: true}
	packet.Username, packet.UsernameFlag = user, user != ""
	packet.Password, packet.PasswordFlag = []byte(password), password != ""
	answer, err := d.Connect(t.Context(), packet)
	if answer == nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if answer.ReasonCode == 0 {
			_ = d.Disconnect(&v5.Disconnect{}) // the server may have disconnected already
		}
	})
	return d, answer.ReasonCode
}

// publish publishes a message of QoS 1, and returns the answer. If the connection ended, it returns nil.
func (d *device) publish(t *testing.T, topic, payload string, change ...func(*v5.Publish)) *v5.PublishResponse {
	t.Helper()
	p := &v5.Publish{Topic: topic, Payload: []byte(payload), QoS: 1, Properties: &v5.PublishProperties{}}
	for _, c := range change {
		c(p)
	}
	ctx, cancel := context.WithTimeout(d.open, 20*time.Second)
	defer cancel()
	answer, err := d.Publish(ctx, p)
	if err != nil && answer == nil && d.open.Err() == nil {
		t.Fatalf("%s: %v", topic, err)
	}
	return answer
}
