package router_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

// noon is the current time of most tests.
var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// faulty is an in-memory store with hooks that can fail or wait.
type faulty struct {
	*mem.Store

	mu      sync.Mutex
	write   func(grid.Table) error // hook that is called before a batch is written
	create  func(grid.Table) error // hook that is called before a table is created
	put     func(store.Key) error  // hook that is called before an item is put
	created map[string]int         // number of calls of Create for each table
	writes  int                    // number of calls of Write
}

func (f *faulty) hook(h *func(grid.Table) error, t grid.Table) error {
	f.mu.Lock()
	do := *h
	f.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(t)
}

// set replaces a hook. It is safe while other calls run.
func (f *faulty) set(h *func(grid.Table) error, do func(grid.Table) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*h = do
}

func (f *faulty) Write(ctx context.Context, batches []store.Batch) []store.Result {
	f.mu.Lock()
	f.writes++
	f.mu.Unlock()
	results := make([]store.Result, len(batches))
	for i, b := range batches {
		if results[i].Err = f.hook(&f.write, b.Table); results[i].Err == nil {
			results[i] = f.Store.Write(ctx, []store.Batch{b})[0]
		}
	}
	return results
}

func (f *faulty) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	f.mu.Lock()
	f.created[t.Name()]++
	f.mu.Unlock()
	if err := f.hook(&f.create, t); err != nil {
		return err
	}
	return f.Store.Create(ctx, t, tier)
}

func (f *faulty) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if f.put != nil {
		if err := f.put(it.Key); err != nil {
			return err
		}
	}
	return f.Store.Put(ctx, it, conds...)
}

type world struct {
	*router.Router
	store *faulty
	grid  grid.Policy

	mu  sync.Mutex
	now time.Time
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// tester has the methods that tests and rapid properties share.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// newWorld returns a world at noon without tables. The stream brief is in a separate class.
func newWorld(change ...func(*router.Options)) *world {
	w := &world{now: noon, grid: grid.DefaultPolicy()}
	w.store = &faulty{Store: mem.New(w.clock), created: map[string]int{}}
	o := router.Options{
		Writer: w.store, Creator: w.store, Streams: streams.New(w.store, w.clock), Grid: w.grid, Now: w.clock,
		Policy: &retention.Policy{
			Prefix:  "varve",
			Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 365 * 24 * time.Hour}, {Name: "brief", Retention: time.Hour}},
			Streams: map[string]retention.Stream{"brief": {Class: "brief"}},
		},
	}
	for _, c := range change {
		c(&o)
	}
	w.Router = router.New(o)
	return w
}

// reading returns a reading of a stream. Different values make different readings.
func reading(stream string, at time.Time, value int64) varve.Reading {
	return varve.Reading{
		Series: varve.Series{Tenant: "acme", Stream: stream, Device: "d1"}, Time: at,
		Fields: []varve.Field{{Name: "v", Value: varve.IntValue(value)}},
	}
}

func (w *world) send(t tester, readings ...varve.Reading) []varve.Verdict {
	t.Helper()
	q, err := w.Admit()
	if err != nil {
		t.Fatalf("admit: %v", err)
	}
	defer q.Done()
	verdicts := make([]varve.Verdict, len(readings))
	if err := q.Write(context.Background(), readings, verdicts); err != nil {
		t.Fatalf("write: %v", err)
	}
	return verdicts
}

// words returns the verdicts as text. Each is stored, duplicate, or the code of a rejection.
func words(verdicts []varve.Verdict) string {
	var list []string
	for _, v := range verdicts {
		word := v.Outcome.String()
		if v.Outcome == varve.Rejected {
			word = string(v.Code)
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

// tables returns the number of readings in each table, as name=n in the order of names.
func (w *world) tables(t tester) string {
	t.Helper()
	infos, err := w.store.Tables(context.Background(), store.Filter{Prefixes: []string{"varve", "varve-brief"}, Window: varve.AllTime(), Details: true})
	if err != nil {
		t.Fatalf("tables: %v", err)
	}
	var list []string
	for i := range infos {
		list = append(list, fmt.Sprintf("%s=%d", infos[i].Name(), infos[i].Readings))
	}
	return strings.Join(list, " ")
}

// name returns the name of the table for an event time and an arrival.
func (w *world) name(prefix string, at, arrived time.Time) string {
	month := grid.MonthOf(arrived)
	r, ok := w.grid.Locate(at, month)
	if !ok {
		return "none"
	}
	return grid.Table{Prefix: prefix, Range: r, Month: month}.Name()
}

func (w *world) expect(t tester, want map[string]int) {
	t.Helper()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		list = append(list, fmt.Sprintf("%s=%d", name, want[name]))
	}
	if got := w.tables(t); got != strings.Join(list, " ") {
		t.Errorf("tables %s, want %s", got, strings.Join(list, " "))
	}
}

func TestRouter_UsesPrefixOfClass(t *testing.T) {
	w := newWorld()
	w.send(t, reading("weather", noon, 1), reading("brief", noon, 1), reading("weather", noon, 2))
	w.expect(t, map[string]int{w.name("varve", noon, noon): 2, w.name("varve-brief", noon, noon): 1})
}
