package devices_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/retention"
)

// noon is the time at which most tests begin.
var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

const tenant = varve.DefaultTenant

// world is a registry of devices in memory, and the identities of stored readings.
type world struct {
	*devices.Registry
	t       testing.TB
	options devices.Options
	items   *registrytest.Items
	filter  devices.StreamFilter

	mu     sync.Mutex
	clock  time.Time
	stored map[varve.Series]map[varve.Position]bool
	failed []error
}

func newWorld(t testing.TB, change ...func(*devices.Options)) *world {
	w := &world{t: t, clock: noon, filter: devices.StreamFilter{}, stored: map[varve.Series]map[varve.Position]bool{}}
	w.items = registrytest.New(w.now)
	w.options = devices.Options{
		Items: w.items, Now: w.now,
		Policy: &retention.Policy{Prefix: "varve", Classes: []retention.Class{
			{Name: "default", Retention: 365 * 24 * time.Hour}, {Name: "audit", Retention: retention.Forever}, {Name: "long", Retention: 3 * 365 * 24 * time.Hour},
		}, Streams: map[string]retention.Stream{"ledger": {Class: "audit"}}},
		Failed: func(_ string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		},
	}
	for _, c := range change {
		c(&w.options)
	}
	w.Registry = devices.New(w.options)
	t.Cleanup(func() { w.Close() })
	return w
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

func (w *world) StreamsOf(_ context.Context, tenant, device string) (of []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.stored {
		if s.Tenant == tenant && s.Device == device {
			of = append(of, s.Stream)
		}
	}
	slices.Sort(of)
	return of, nil
}

// reading returns a reading of stream weather.
func reading(device string, at time.Time) varve.Reading {
	return varve.Reading{
		Series: varve.Series{Tenant: tenant, Stream: "weather", Device: device}, Time: at, Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
	}
}

// store records readings as stored, and returns their verdicts.
func (w *world) store(readings []varve.Reading) []varve.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	verdicts := make([]varve.Verdict, len(readings))
	for i := range readings {
		r := readings[i].Clone()
		if w.stored[r.Series] == nil {
			w.stored[r.Series] = map[varve.Position]bool{}
		}
		verdicts[i].Outcome = varve.Stored
		if p := r.Position(); w.stored[r.Series][p] {
			verdicts[i].Outcome = varve.Duplicate
		} else {
			w.stored[r.Series][p] = true
		}
	}
	return verdicts
}

func (w *world) touch(ctx context.Context, now time.Time, readings []varve.Reading, verdicts []varve.Verdict) error {
	return w.Touch(ctx, now, tenant, w.filter, readings, verdicts)
}

func (w *world) send(readings ...varve.Reading) {
	w.t.Helper()
	must(w.t, w.touch(w.t.Context(), w.now(), readings, w.store(readings)))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// invalid expects an Invalid error about a parameter, whose message contains text.
func invalid(t *testing.T, err error, param, text string) {
	t.Helper()
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param != param || !strings.Contains(e.Message, text) {
		t.Errorf("%v: want an error about %s with %q", err, param, text)
	}
}

// alias returns bytes as a string without a copy, as parsers do.
func alias(b []byte) string { return unsafe.String(&b[0], len(b)) }
