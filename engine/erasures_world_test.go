package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// flaky is a store that outlives its engine. Erase and DeleteAll fail at random, before or after their
// effect.
type flaky struct {
	*mem.Store
	mu   sync.Mutex
	rng  *rand.Rand
	fail bool
	left int // number of failures that still follow
}

var errFlaky = errors.New("the store fails for now")

func (s *flaky) fails() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fail || s.left == 0 || s.rng.IntN(3) > 0 {
		return false
	}
	s.left--
	return true
}

func (s *flaky) Erase(ctx context.Context, x store.Erasure) (int64, error) {
	if s.fails() {
		return 0, errFlaky
	}
	n, err := s.Store.Erase(ctx, x)
	if s.fails() {
		return n, errFlaky
	}
	return n, err
}

func (s *flaky) DeleteAll(ctx context.Context, keys []store.Key) error {
	if s.fails() {
		return errFlaky
	}
	err := s.Store.DeleteAll(ctx, keys)
	if s.fails() {
		return errFlaky
	}
	return err
}

func (s *flaky) Close() error { return nil }

// erasing is an engine on a flaky store, with the devices, streams, alerts, logs and roll-ups of a test.
type erasing struct {
	*testing.T
	*engine.Engine
	store *flaky
	rng   *rand.Rand
	begun time.Time
}

var (
	erasingDevices = []string{"a", "ab", "b/1"}
	erasingStreams = []string{"power", "weather"}
)

func newErasing(t *testing.T, seed uint64) *erasing {
	t.Helper()
	w := &erasing{T: t, rng: rand.New(rand.NewPCG(seed, 1))}
	w.store = &flaky{Store: mem.New(nil), rng: rand.New(rand.NewPCG(seed, 2)), left: 8}
	w.begun = time.Now()
	w.reopen()
	_, _, err := w.Alerts.AddRule(t.Context(), alerts.Rule{
		Tenant: varve.DefaultTenant, Stream: "weather", Field: "v", Comparison: ">", Threshold: varve.IntValue(90), Severity: alerts.Warning,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		wait(time.Duration(w.rng.IntN(30)) * time.Hour)
		w.send(60)
		for _, d := range erasingDevices {
			if _, _, err := w.Logs.Add(t.Context(), devicelog.Entry{Tenant: varve.DefaultTenant, Device: d, Time: time.Now(), State: "ok", Message: "by hand"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// reopen replaces the engine with another one on the same store.
func (w *erasing) reopen() {
	w.Helper()
	if w.Engine != nil {
		if err := w.Close(); err != nil {
			w.Fatal(err)
		}
	}
	w.Engine = open(w.T, engine.Options{Store: w.store})
}

// send writes n readings of random devices and streams, most of them late.
func (w *erasing) send(n int) {
	w.Helper()
	list := make([]varve.Reading, n)
	for i := range list {
		list[i] = varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: erasingStreams[w.rng.IntN(2)], Device: erasingDevices[w.rng.IntN(3)]},
			Time:   time.Now().Add(-time.Duration(w.rng.IntN(60*60)) * time.Minute),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(w.rng.IntN(100)))}},
		}
	}
	req, err := w.Router.Admit()
	if err != nil {
		w.Fatal(err)
	}
	defer req.Done()
	if err := req.Write(w.Context(), list, make([]varve.Verdict, n)); err != nil {
		w.Fatal(err)
	}
}

// lines returns a line for each live reading of a series for which the function "stays" returns true.
func (w *erasing) lines(device, stream string, stays func(at, arrived time.Time) bool) (lines []string) {
	w.Helper()
	s := varve.Series{Tenant: varve.DefaultTenant, Stream: stream, Device: device}
	rows, err := w.Query.Open(w.Context(), query.Query{Series: s, Window: varve.AllTime(), Consistent: true})
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for {
		page, err := rows.Next(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		if len(page) == 0 {
			return lines
		}
		for i := range page {
			if r := &page[i]; stays(r.Time, r.Arrived) {
				lines = append(lines, fmt.Sprintf("%s %s arrived %s", r, r.Fields[0].Value, r.Arrived.Format(time.RFC3339Nano)))
			}
		}
	}
}

// derived returns the roll-ups, the alerts and the log of a device.
func (w *erasing) derived(device string) (lines []string) {
	w.Helper()
	for _, stream := range erasingStreams {
		for _, period := range []rollup.Period{rollup.Hourly, rollup.Daily} {
			page, err := w.Rollups.Read(w.Context(), rollup.Query{Series: varve.Series{Tenant: varve.DefaultTenant, Stream: stream, Device: device}, Period: period, Window: varve.AllTime(), Limit: rollup.MaxLimit})
			if err != nil {
				w.Fatal(err)
			}
			for _, r := range page.Rollups {
				lines = append(lines, fmt.Sprintf("%s %s %s: %d", stream, period, r.Start.Format(time.RFC3339), r.Readings))
			}
		}
	}
	found, err := w.Alerts.Alerts(w.Context(), alerts.AlertList{Tenant: varve.DefaultTenant, Device: device, Limit: 1000})
	if err != nil {
		w.Fatal(err)
	}
	for _, a := range found.Items {
		lines = append(lines, fmt.Sprintf("alert %s of %s", a.ID, a.Stream))
	}
	entries, err := w.Logs.List(w.Context(), devicelog.Query{Tenant: varve.DefaultTenant, Device: device, Window: varve.AllTime(), Limit: 1000})
	if err != nil {
		w.Fatal(err)
	}
	for _, l := range entries.Items {
		lines = append(lines, fmt.Sprintf("log %s %s", l.Time, l.Message))
	}
	return lines
}

// recount returns the roll-ups of a device as counted from its readings.
func (w *erasing) recount(device string) (lines []string) {
	w.Helper()
	for _, stream := range erasingStreams {
		for _, period := range []rollup.Period{rollup.Hourly, rollup.Daily} {
			step := map[rollup.Period]time.Duration{rollup.Hourly: time.Hour, rollup.Daily: 24 * time.Hour}[period]
			n := map[string]int{}
			w.lines(device, stream, func(at, _ time.Time) bool {
				n[at.Truncate(step).Format(time.RFC3339)]++
				return false
			})
			for at, n := range n {
				lines = append(lines, fmt.Sprintf("%s %s %s: %d", stream, period, at, n))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func rollupLines(lines []string) (only []string) {
	for _, l := range lines {
		if !strings.HasPrefix(l, "alert ") && !strings.HasPrefix(l, "log ") {
			only = append(only, l)
		}
	}
	slices.Sort(only)
	return only
}

// target draws a target: all data of a device, or a part of it.
func (w *erasing) target() erasures.Target {
	t := erasures.Target{Tenant: varve.DefaultTenant, Device: erasingDevices[w.rng.IntN(3)], Window: varve.AllTime()}
	if w.rng.IntN(2) == 0 {
		t.Stream = erasingStreams[w.rng.IntN(2)]
	}
	if w.rng.IntN(2) == 0 {
		t.Window.From = time.Now().Add(-time.Duration(w.rng.IntN(120)) * time.Hour).Truncate(time.Hour)
		t.Window.To = t.Window.From.Add(time.Duration(1+w.rng.IntN(60)) * time.Hour)
	}
	return t
}

func (w *erasing) erase(t erasures.Target) erasures.Record {
	w.Helper()
	p, err := w.Erasures.Plan(w.Context(), t)
	if err != nil {
		w.Fatal(err)
	}
	r, err := w.BeginErasure(w.Context(), t, p.Digest(), "key")
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *erasing) ended(id string, want erasures.State) erasures.Record {
	w.Helper()
	var r erasures.Record
	for range 300 {
		wait(time.Minute)
		var err error
		if r, err = w.Erasures.Get(w.Context(), id); err != nil {
			w.Fatal(err)
		}
		if r.State == want {
			return r
		}
	}
	w.Fatalf("erasure %+v, want state %s", r, want)
	return r
}
