package notify_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/notify"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

const tenant = varve.DefaultTenant

// receiver is a notifier that records messages. It fails with the error that fault returns.
type receiver struct {
	mu       sync.Mutex
	messages []*notify.Message
	times    []time.Time
	fault    func(m *notify.Message) error
}

func (r *receiver) Send(_ context.Context, m *notify.Message) error {
	r.mu.Lock()
	fault := r.fault
	r.mu.Unlock()
	if fault != nil {
		if err := fault(m); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, m)
	r.times = append(r.times, time.Now())
	return nil
}

func (r *receiver) setFault(f func(m *notify.Message) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = f
}

// log returns the received messages as text. An alert has its type and device, the reason for its
// resolution, and "late" if it is late.
func (r *receiver) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, m := range r.messages {
		switch m.Type {
		case notify.Digest:
			d := m.Digest
			lines = append(lines, fmt.Sprintf("digest %d opened %d resolved %d open %d devices", d.Opened, d.Resolved, d.Open, d.Devices))
		default:
			line := strings.TrimPrefix(string(m.Type), "alert.") + " " + m.Alert.Device
			if m.Alert.ResolvedBy != "" {
				line += " by " + m.Alert.ResolvedBy
			}
			if m.Alert.Late {
				line += " late"
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, ", ")
}

// world is an engine in a bubble of synctest.
type world struct {
	*engine.Engine
	t testing.TB
}

// inBubble runs a test with fake time.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func open(t *testing.T, s store.Store, targets ...notify.Target) *world {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Store: s, Holder: "test", NoRollups: true, Notify: engine.Notify{Targets: targets}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{Engine: e, t: t}
}

func newStore() store.Store { return mem.New(nil) }

// hot adds a rule on values of field v above 30.
func (w *world) hot(change ...func(*alerts.Rule)) {
	w.t.Helper()
	r := alerts.Rule{
		Tenant: tenant, ID: "hot", Stream: "weather", Field: "v", Comparison: ">", Threshold: varve.IntValue(30),
		Gap: alerts.NoGap, Severity: alerts.Warning,
	}
	for _, c := range change {
		c(&r)
	}
	if _, _, err := w.Alerts.AddRule(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

// send writes readings of a device. The first one has the given event time, and each further one is
// a second later.
func (w *world) send(device string, at time.Time, values ...int64) {
	w.t.Helper()
	readings := make([]varve.Reading, len(values))
	for i, v := range values {
		readings[i] = valued(device, at.Add(time.Duration(i)*time.Second), v)
	}
	w.write(readings)
}

// openMany opens an alert of each of n devices.
func (w *world) openMany(n int) {
	w.t.Helper()
	readings := make([]varve.Reading, n)
	for i := range readings {
		readings[i] = valued(fmt.Sprintf("d%06d", i), time.Now(), 35)
	}
	w.write(readings)
}

func valued(device string, at time.Time, v int64) varve.Reading {
	return varve.Reading{
		Series: varve.Series{Tenant: tenant, Stream: "weather", Device: device}, Time: at,
		Fields: []varve.Field{{Name: "v", Value: varve.IntValue(v)}},
	}
}

func (w *world) write(readings []varve.Reading) {
	w.t.Helper()
	req, err := w.Router.Admit()
	if err != nil {
		w.t.Fatal(err)
	}
	defer req.Done()
	verdicts := make([]varve.Verdict, len(readings))
	if err := req.Write(w.t.Context(), readings, verdicts); err != nil {
		w.t.Fatal(err)
	}
	if i := slices.IndexFunc(verdicts, func(v varve.Verdict) bool { return v.Outcome != varve.Stored }); i >= 0 {
		w.t.Fatal(verdicts[i])
	}
}

// wait advances the fake clock by d. It returns when all other goroutines are blocked.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func expect(t *testing.T, r *receiver, want string) {
	t.Helper()
	if got := r.log(); got != want {
		t.Errorf("received %q, want %q", got, want)
	}
}

func all(r notify.Notifier) notify.Target { return notify.Target{Name: "ops", Notifier: r} }

func (w *world) entries() int {
	w.t.Helper()
	list, err := w.Alerts.Outbox().Entries(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return len(list)
}
