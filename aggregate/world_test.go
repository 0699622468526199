package aggregate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/store/storetest"
)

// TB has the methods that testing.TB and rapid.T share.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// start is the time at which each world begins. In propertyZones, no clocks change between start and the
// end of 2026.
var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world has a store with readings, and the same readings in memory to compare with.
type world struct {
	t       TB
	clock   time.Time
	engine  *engine.Engine
	subject *aggregate.Engine
	model   []varve.Reading // distinct readings
	known   map[string]bool // texts of the readings in model
}

func newWorld(t TB) *world {
	w := &world{t: t, clock: start, known: map[string]bool{}}
	w.open(mem.New(w.now))
	return w
}

type columnStore struct{ *mem.Store }

func (s columnStore) ReadBlocks(ctx context.Context, r store.Range, dst []varve.Reading) (store.BlockPage, error) {
	return storetest.ReadBlocks(ctx, s, r, dst)
}

// drawWorld returns a world. It draws whether the store returns readings as columns.
func drawWorld(t *rapid.T) *world {
	w := &world{t: t, clock: start, known: map[string]bool{}}
	if rapid.Bool().Draw(t, "columns") {
		w.open(columnStore{mem.New(w.now)})
	} else {
		w.open(mem.New(w.now))
	}
	return w
}

func (w *world) now() time.Time { return w.clock }

func (w *world) open(s store.Store) {
	var err error
	w.engine, err = engine.Open(context.Background(), engine.Options{Store: s, Now: w.now, Holder: "test"})
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	w.subject = aggregate.New(aggregate.Options{Readings: w.engine.Query, Rollups: w.engine.Rollups})
}

func (w *world) close() {
	if err := w.engine.Close(); err != nil {
		w.t.Fatalf("close: %v", err)
	}
}

// send writes readings to the store and the model. If several readings have one position, the model
// has only the first.
func (w *world) send(readings ...varve.Reading) {
	w.t.Helper()
	q, err := w.engine.Router.Admit()
	if err != nil {
		w.t.Fatalf("admit: %v", err)
	}
	defer q.Done()
	list, verdicts := make([]varve.Reading, len(readings)), make([]varve.Verdict, len(readings))
	for i := range readings {
		if v := readings[i].Normalize(); v.Outcome == varve.Rejected {
			w.t.Fatalf("%s: %s", &readings[i], v)
		}
		list[i] = readings[i].Clone()
	}
	if err := q.Write(context.Background(), list, verdicts); err != nil {
		w.t.Fatalf("write: %v", err)
	}
	for i := range readings {
		if v := verdicts[i]; v.Outcome == varve.Rejected && v.Code != varve.CodeConflict {
			w.t.Fatalf("%s: %s", &readings[i], v)
		}
		if name := readings[i].String(); verdicts[i].Outcome == varve.Stored && !w.known[name] {
			w.known[name] = true
			w.model = append(w.model, readings[i].Clone())
		}
	}
}

func (w *world) run(q aggregate.Query) *aggregate.Answer {
	w.t.Helper()
	a, err := w.subject.Run(context.Background(), q)
	if err != nil {
		w.t.Fatalf("run: %v", err)
	}
	return a
}

func series(device string) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}
}

// reading returns a reading. In fields, names and values alternate.
func reading(t TB, device string, at time.Time, id string, fields ...string) varve.Reading {
	r := varve.Reading{Series: series(device), Time: at}
	if id != "" {
		var err error
		if r.ID, err = varve.ParseID(id); err != nil {
			t.Fatalf("%v", err)
		}
	}
	for i := 0; i < len(fields); i += 2 {
		r.Fields = append(r.Fields, varve.Field{Name: fields[i], Value: value(t, fields[i+1])})
	}
	return r
}

func functions(t TB, names ...string) []aggregate.Function {
	list, err := aggregate.ParseFunctions(names)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return list
}

// lines formats an answer as one line per row: device, start, number of readings, and the values
// by field.
func lines(q *aggregate.Query, a *aggregate.Answer) (all []string) {
	for _, r := range a.Rows {
		line := fmt.Sprintf("%s %s %d", r.Device, time.Unix(r.Start, 0).UTC().Format("01-02T15:04"), r.Readings)
		for _, f := range r.Fields {
			line += " " + f.Name + ":"
			for i, v := range f.Values {
				line += fmt.Sprintf(" %s=%s", q.Functions[i], v)
			}
			if f.Ignored > 0 {
				line += fmt.Sprintf(" ignored=%d", f.Ignored)
			}
		}
		all = append(all, line)
	}
	return all
}

func wantLines(t *testing.T, q *aggregate.Query, a *aggregate.Answer, want ...string) {
	t.Helper()
	got := lines(q, a)
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("row %d:\n got %s\nwant %s", i, g, w)
		}
	}
}
