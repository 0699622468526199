package access

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

var (
	began   = time.Date(2026, 9, 10, 12, 0, 0, 0, time.UTC)  // arrival of the first readings
	day     = time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)  // the day on which the sensor reports every minute
	noon    = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) // the time at which the test runs the access patterns
	month   = 30 * 24 * time.Hour
	sensor  = series("sensor_01")
	hot     = series("hot")
	boiler  = varve.Series{Tenant: varve.DefaultTenant, Stream: "boilers", Device: "boiler_1"}
	expired = varve.Series{Tenant: varve.DefaultTenant, Stream: "month", Device: "sensor_01"}
)

func series(device string) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}
}

// world is an engine on an emulator, with a clock that the test sets. It has the readings, logs,
// alerts, rules and roll-ups that the access patterns read.
type world struct {
	*engine.Engine
	store      *dynamo.Store
	operations *operations
	mu         sync.Mutex
	clock      time.Time
	open       []string     // ids of open alerts
	spare      []grid.Table // tables without readings
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) turn(to time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = to
}

func newWorld(t *testing.T, emulator dynamotest.Emulator) *world {
	t.Helper()
	w := &world{clock: began, operations: &operations{seen: map[string]int{}}}
	s, err := dynamo.Open(t.Context(), dynamo.Options{
		Client: w.operations.client(dynamotest.Client(emulator.Start(t))), Registry: "varve_registry", Now: w.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.store = s
	policy := engine.DefaultPolicy()
	policy.Streams = map[string]retention.Stream{expired.Stream: {Retention: month}}
	rotation := engine.DefaultRotation()
	rotation.Retention, rotation.Drop = policy, true
	w.Engine, err = engine.Open(t.Context(), engine.Options{Store: s, Rotation: rotation, Parallel: 16, Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	w.fill(t)
	return w
}

// fill writes the data that the access patterns need, and recounts all dirty hours.
func (w *world) fill(t *testing.T) {
	t.Helper()
	var readings []varve.Reading
	for i := range 10 {
		at := began.Add(time.Duration(i-10) * time.Minute)
		readings = append(readings, reading(sensor, at), reading(expired, at))
	}
	w.send(t, readings...)
	w.turn(noon.Add(-12 * time.Hour))
	if _, err := w.Rotator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	tables, err := w.store.Tables(t.Context(), store.Filter{
		Prefixes: []string{engine.DefaultPolicy().Prefix}, Window: varve.Window{From: varve.AllTime().From, To: began.AddDate(-1, 0, 0)}, Fresh: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range tables {
		w.spare = append(w.spare, info.Table)
	}
	readings = readings[:0]
	for i := range 24 * 60 {
		readings = append(readings, reading(sensor, day.Add(time.Duration(i)*time.Minute)))
	}
	for i := range 100 {
		readings = append(readings, reading(series(fmt.Sprintf("d%03d", i)), day))
	}
	for i := range 5 { // late readings
		readings = append(readings, reading(sensor, began.Add(time.Duration(i)*time.Minute)))
	}
	w.send(t, append(readings, reading(hot, day))...)
	w.spread(t)
	w.turn(noon)
	for n := 1; n > 0; {
		var err error
		if n, err = w.Aggregator.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.fillDevices(t)
}

// spread spreads the hot device over four shards, and writes readings of it.
func (w *world) spread(t *testing.T) {
	t.Helper()
	if _, err := w.Streams.Spread(t.Context(), hot.Tenant, hot.Stream, hot.Device, 4); err != nil {
		t.Fatal(err)
	}
	w.turn(w.now().Add(2 * time.Minute))
	var readings []varve.Reading
	for i := range 60 {
		readings = append(readings, reading(hot, day.Add(time.Duration(i+1)*time.Minute)))
	}
	w.send(t, readings...)
}

// fillDevices adds log entries and a rule. One device gets two resolved alerts, and each of
// twenty others gets an open alert.
func (w *world) fillDevices(t *testing.T) {
	t.Helper()
	for i := range 20 {
		l := devicelog.Entry{Tenant: varve.DefaultTenant, Device: "boiler_1", Time: day.Add(time.Duration(i) * time.Hour), State: "NORMAL", Operator: "liz"}
		if i%4 == 0 {
			l.State, l.EscalatedTo = "WARNING4", "sara"
		}
		w.log(t, l)
	}
	rule := alerts.Rule{
		Tenant: varve.DefaultTenant, ID: "hot", Stream: boiler.Stream, Field: "temperature", Comparison: ">", Threshold: varve.IntValue(30), Severity: alerts.Critical,
	}
	if _, _, err := w.Alerts.AddRule(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	for i, v := range []int64{20, 31, 20, 31, 20} {
		w.send(t, valued(boiler, noon.Add(time.Duration(i-60)*time.Minute), v))
	}
	for i := range 20 {
		s := boiler
		s.Device = fmt.Sprintf("b%02d", i)
		w.send(t, valued(s, noon, 31))
		page, err := w.Alerts.Alerts(t.Context(), alerts.AlertList{Tenant: s.Tenant, Device: s.Device})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("%d alerts: %v", len(page.Items), err)
		}
		w.open = append(w.open, page.Items[0].ID)
	}
}

func (w *world) log(t *testing.T, l devicelog.Entry) {
	t.Helper()
	if _, _, err := w.Logs.Add(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

func reading(s varve.Series, at time.Time) varve.Reading { return valued(s, at, 22) }

func valued(s varve.Series, at time.Time, temperature int64) varve.Reading {
	return varve.Reading{Series: s, Time: at, Fields: []varve.Field{
		{Name: "humidity", Value: varve.IntValue(45)}, {Name: "pressure", Value: varve.IntValue(1013)}, {Name: "temperature", Value: varve.IntValue(temperature)},
	}}
}

func (w *world) send(t *testing.T, readings ...varve.Reading) {
	t.Helper()
	req, err := w.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer req.Done()
	verdicts := make([]varve.Verdict, len(readings))
	if err := req.Write(t.Context(), readings, verdicts); err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts {
		if v.Outcome != varve.Stored {
			t.Fatalf("%s: %s", readings[i].String(), v)
		}
	}
}

func (w *world) read(t *testing.T, want int, q query.Query) {
	t.Helper()
	rows, err := w.Query.Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for {
		some, err := rows.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			break
		}
		n += len(some)
	}
	if n != want {
		t.Fatalf("%d readings, want %d", n, want)
	}
}

func (w *world) rollups(t *testing.T, want int, q rollup.Query) {
	t.Helper()
	page, err := w.Rollups.Read(t.Context(), q)
	if err != nil || len(page.Rollups) != want {
		t.Fatalf("%d roll-ups, want %d: %v", len(page.Rollups), want, err)
	}
}
