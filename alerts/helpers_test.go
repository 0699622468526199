package alerts_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// noon is the time at which most tests begin.
var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

const (
	tenant = varve.DefaultTenant
	day    = 24 * time.Hour
)

// world has a monitor, its registry of devices, its registry items in memory, and the stored
// readings.
type world struct {
	*alerts.Monitor
	Devices *devices.Registry
	t       testing.TB
	options alerts.Options
	items   *registrytest.Items

	mu         sync.Mutex
	clock      time.Time
	readings   map[varve.Series][]varve.Reading // sorted by position
	failed     []error
	read       int // number of readings that Read has yielded
	tableReads int // number of calls of LastArrival
}

func newWorld(t testing.TB, change ...func(*alerts.Options)) *world {
	w := &world{t: t, clock: noon, readings: map[varve.Series][]varve.Reading{}}
	w.items = registrytest.New(w.now)
	w.options = alerts.Options{
		Items: w.items, Source: w, Now: w.now, Holder: "test", RequestTimeout: 15 * time.Minute,
		Failed: func(_ string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		},
	}
	for _, c := range change {
		c(&w.options)
	}
	w.Monitor, w.Devices = w.process(w.options)
	return w
}

// process simulates a new process. It returns the monitor and the registry of devices of the
// process.
func (w *world) process(o alerts.Options) (*alerts.Monitor, *devices.Registry) {
	o.Devices = devices.New(devices.Options{
		Items: o.Items, Now: o.Now, Failed: o.Failed,
		Policy: &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: "default", Retention: 365 * 24 * time.Hour}}},
	})
	m := alerts.New(o)
	w.t.Cleanup(func() {
		m.Close()
		o.Devices.Close()
	})
	return m, o.Devices
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

func (w *world) Read(_ context.Context, s varve.Series, win varve.Window, o varve.Order, yield func(*varve.Reading) bool) error {
	w.mu.Lock()
	list := slices.Clone(w.readings[s])
	w.mu.Unlock()
	if o == varve.Descending {
		slices.Reverse(list)
	}
	for i := range list {
		if !win.Contains(list[i].Time) {
			continue
		}
		w.mu.Lock()
		w.read++
		w.mu.Unlock()
		if !yield(&list[i]) {
			break
		}
	}
	return nil
}

func (w *world) LastArrival(_ context.Context, s varve.Series) (last time.Time, found bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tableReads++
	for _, r := range w.readings[s] {
		if r.Arrived.After(last) {
			last, found = r.Arrived, true
		}
	}
	return last, found, nil
}

func (w *world) StreamsOf(_ context.Context, tenant, device string) (of []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.readings {
		if s.Tenant == tenant && s.Device == device {
			of = append(of, s.Stream)
		}
	}
	slices.Sort(of)
	return of, nil
}

// reading returns a reading of stream weather.
func reading(device string, at time.Time, fields ...varve.Field) varve.Reading {
	if len(fields) == 0 {
		fields = []varve.Field{{Name: "v", Value: varve.IntValue(1)}}
	}
	return varve.Reading{Series: varve.Series{Tenant: tenant, Stream: "weather", Device: device}, Time: at, Fields: fields}
}

// store stores readings, and returns their verdicts. The monitor does not observe them.
func (w *world) store(readings []varve.Reading) []varve.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	verdicts := make([]varve.Verdict, len(readings))
	for i := range readings {
		r := &readings[i]
		r.Arrived = w.clock
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			w.t.Fatal(v)
		}
		list := w.readings[r.Series]
		at, found := slices.BinarySearchFunc(list, r.Position(), func(r varve.Reading, p varve.Position) int { return r.Position().Compare(p) })
		if found {
			verdicts[i] = store.Repeat(r, &list[at])
		} else {
			verdicts[i].Outcome = varve.Stored
			w.readings[r.Series] = slices.Insert(list, at, r.Clone())
		}
	}
	return verdicts
}

// send stores readings, and lets the monitor observe them.
func (w *world) send(readings ...varve.Reading) []varve.Verdict {
	w.t.Helper()
	verdicts := w.store(readings)
	must(w.t, w.Observe(w.t.Context(), w.now(), readings, verdicts))
	return verdicts
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// invalid expects an Invalid error for a parameter, with a text in its message.
func invalid(t *testing.T, err error, param, says string) {
	t.Helper()
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param != param || !strings.Contains(e.Message, says) {
		t.Errorf("%v: want an error about %s that says %q", err, param, says)
	}
}
