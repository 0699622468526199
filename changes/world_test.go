package changes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// TB has the methods that testing.TB and rapid.T share.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// start is the time at which each world begins, a little more than two days before the end of a
// month.
var start = time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)

const lifetime = 90 * 24 * time.Hour

var weather = changes.Stream{Tenant: "acme", Name: "weather"}

// lasting is a store that remains open after an engine closes. It can pause a write of a test before and after
// its steps: see flight.
type lasting struct {
	store.Store
	mu     *sync.Mutex
	stored map[string]time.Time // first arrival of each stored reading
	late   *lateWrites          // if not nil, performs some of the failed writes later
}

func (lasting) Close() error { return nil }

func (l lasting) PutAll(ctx context.Context, items []store.Item) error {
	if !strings.HasPrefix(items[0].PK, "CHANGES") {
		return l.Store.PutAll(ctx, items)
	}
	f := flightOf(ctx)
	if err := f.stop(beforeMarkers); err != nil {
		return err
	}
	if err := l.Store.PutAll(ctx, items); err != nil {
		return err
	}
	return f.stop(afterMarkers)
}

func (l lasting) Write(ctx context.Context, batches []store.Batch) []store.Result {
	f := flightOf(ctx)
	err := f.stop(beforeReadings)
	results := make([]store.Result, len(batches))
	if err == nil {
		results = l.Store.Write(ctx, batches)
		l.record(batches, results)
		err = f.stop(afterReadings)
	}
	if errors.Is(err, errLate) {
		l.late.add(func() { l.record(batches, l.Store.Write(context.WithoutCancel(ctx), batches)) })
	}
	if err != nil {
		for i := range results {
			results[i] = store.Result{Err: err}
		}
	}
	return results
}

// record adds stored readings to the model.
func (l lasting) record(batches []store.Batch, results []store.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batches {
		for j, v := range results[i].Verdicts {
			r := &batches[i].Readings[j]
			if old, ok := l.stored[r.String()]; v.Outcome == varve.Stored && (!ok || r.Arrived.Before(old)) {
				l.stored[r.String()] = r.Arrived
			}
		}
	}
}

// stage is a point in a write at which a test can stop the write.
type stage int

const (
	beforeMarkers stage = iota + 1
	afterMarkers
	beforeReadings
	afterReadings
)

var errCut = errors.New("the process ended")

// errLate is the result of a write that the store performs after its caller gave up.
var errLate = errors.New("the store did not answer in time")

// flight is a write that stops at a stage until the test releases it.
type flight struct {
	at       stage
	reached  chan struct{}
	released chan error // the error that the stage returns
	ended    chan struct{}
	readings []varve.Reading
	verdicts []varve.Verdict
}

type flightKey struct{}

func flightOf(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// stop waits for the release of the flight, if the flight stops at this stage.
func (f *flight) stop(at stage) error {
	if f == nil || f.at != at {
		return nil
	}
	f.at = 0
	close(f.reached)
	return <-f.released
}

// world is an engine over a store that outlives the engine, with a model of all readings.
type world struct {
	*model
	t       TB
	store   lasting
	engine  *engine.Engine
	flights []*flight
	shared  bool          // if true, other worlds write to the store, too
	offset  time.Duration // difference of this process's clock from the clock of the model
	readers []*consumer
	indexed bool          // whether the stream has an index by arrival
	real    bool          // if true, the world uses the real clock
	setBack time.Duration // sum of the recent changes of the clock, if it was set back: 0 or negative
}

// model is the expected state. Worlds that share a store share a model.
type model struct {
	mu    sync.Mutex // guards clock, which only the test changes
	clock time.Time
	made  []varve.Reading // all readings that were sent
	acked map[string]bool // readings of acknowledged writes, by their text
}

// consumer reads changes in increments.
type consumer struct {
	device string
	cursor changes.Cursor
	since  time.Time            // readings with an earlier arrival are not expected
	got    map[string]time.Time // arrivals of the received readings, by their text
	// settled is the settled time of the last page. If ahead is set, the cursor of that page is after it.
	settled time.Time
	ahead   bool
}

func newWorld(t TB, s store.Store) *world {
	w := &world{t: t, model: &model{clock: start, acked: map[string]bool{}}, indexed: true}
	if s == nil {
		s = mem.New(w.now)
	}
	w.store = lasting{Store: s, mu: new(sync.Mutex), stored: map[string]time.Time{}}
	w.open()
	w.readers = []*consumer{{got: map[string]time.Time{}}, {device: devices[0], got: map[string]time.Time{}}}
	return w
}

var devices = []string{"a", "a/b", "a 0000494400"}

func (w *world) now() time.Time {
	if w.real {
		return time.Now()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock.Add(w.offset)
}

// pass advances the clock, or sets it back.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

func (w *world) open() {
	var err error
	w.engine, err = engine.Open(context.Background(), engine.Options{
		Store: w.store, Now: w.now, NoRollups: true, Indexed: func(string) bool { return w.indexed }, Shared: w.shared, Rotation: &rotator.Policy{
			Grid:      grid.Policy{Future: 24 * time.Hour, Recent: 1, Doubling: 60 * 24 * time.Hour},
			Retention: &retention.Policy{Prefix: "v", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: lifetime}}},
			Drop:      true, Grace: time.Hour,
		},
	})
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
}

func (w *world) close() {
	if err := w.engine.Close(); err != nil {
		w.t.Fatalf("close: %v", err)
	}
}

func (w *world) reading(device string, at time.Time) varve.Reading {
	r := varve.Reading{
		Series: varve.Series{Tenant: weather.Tenant, Stream: weather.Name, Device: device}, Time: at,
		Fields: []varve.Field{{Name: "n", Value: varve.IntValue(int64(len(w.made)))}},
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		w.t.Fatalf("%s", v)
	}
	w.made = append(w.made, r)
	return r
}

// send begins a write that stops at a stage, or ends if the stage is 0.
func (w *world) send(at stage, readings ...varve.Reading) {
	f := &flight{at: at, reached: make(chan struct{}), released: make(chan error, 1), ended: make(chan struct{})}
	for i := range readings {
		f.readings = append(f.readings, readings[i].Clone())
	}
	f.verdicts = make([]varve.Verdict, len(readings))
	q, err := w.engine.Router.Admit()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	var failed error
	go func() {
		defer close(f.ended)
		defer q.Done()
		failed = q.Write(context.WithValue(context.Background(), flightKey{}, f), f.readings, f.verdicts)
	}()
	select {
	case <-f.reached:
		w.flights = append(w.flights, f)
	case <-f.ended: // the write may end before its stage, for example if its markers existed
		if failed != nil {
			w.t.Fatalf("%v", failed)
		}
		w.record(f)
	}
}

// release ends a flight. If err is set, its stage fails.
func (w *world) release(i int, err error) {
	f := w.flights[i]
	w.flights = slices.Delete(w.flights, i, i+1)
	f.released <- err
	<-f.ended
	w.record(f)
}

// record adds acknowledged readings to the model.
func (w *world) record(f *flight) {
	for i, v := range f.verdicts {
		if v.Outcome == varve.Rejected {
			continue
		}
		w.acked[f.readings[i].String()] = true
	}
}

// restart ends all flights and opens another engine.
func (w *world) restart() {
	for len(w.flights) > 0 {
		w.release(0, errCut)
	}
	w.close()
	w.open()
}

// poll reads one page of changes. It returns whether more may follow.
func (w *world) poll(c *consumer, limit int) bool {
	w.t.Helper()
	rows, err := w.engine.Changes.Open(context.Background(), changes.Query{Stream: weather, Device: c.device, Since: c.cursor, Limit: limit})
	if varve.FailureOf(err) == varve.Gone {
		if c.cursor == (changes.Cursor{}) {
			w.t.Fatalf("%v", err)
		}
		// The consumer starts over without a cursor, and receives all readings once more. So forget
		// the readings that it has received.
		c.cursor, c.got = changes.Cursor{}, map[string]time.Time{}
		return true
	}
	if err != nil {
		w.t.Fatalf("open changes: %v", err)
	}
	if c.cursor == (changes.Cursor{}) {
		c.since = rows.Cursor().Since
	}
	n := 0
	for {
		page, err := rows.Next(context.Background())
		if err != nil {
			w.t.Fatalf("read changes: %v", err)
		}
		if len(page) == 0 {
			break
		}
		n += len(page)
		w.add(c, page)
	}
	if limit > 0 && n > limit {
		w.t.Fatalf("%d readings, want at most %d", n, limit)
	}
	text := rows.Cursor().Encode(weather, c.device)
	if c.cursor, err = changes.ParseCursor(text, weather, c.device); err != nil {
		w.t.Fatalf("cursor %+v: %v", rows.Cursor(), err)
	}
	c.settled, c.ahead = rows.Settled(), n == 0 && rows.More()
	if !rows.More() && c.settled.Before(c.cursor.Since) {
		w.t.Fatalf("the last page has the settled time %s, and the cursor %s", c.settled, c.cursor.Since)
	}
	return rows.More()
}

func (w *world) add(c *consumer, page []varve.Reading) {
	for i := range page {
		key := page[i].String()
		// After the first copy of a reading has expired, its table may have been dropped. Then a
		// later copy counts.
		if at, ok := c.got[key]; ok && w.clock.Sub(at) < lifetime {
			w.t.Fatalf("%s is returned twice, with the arrivals %s and %s", key, at, page[i].Arrived)
		}
		if c.device != "" && page[i].Device != c.device {
			w.t.Fatalf("%s is returned for device %s", key, c.device)
		}
		c.got[key] = page[i].Arrived
	}
}

// check reads all changes, and compares the increments of a consumer with the model.
func (w *world) check(c *consumer) {
	w.t.Helper()
	more := true
	for i := 0; more; i++ {
		if more = w.poll(c, 0); c.ahead {
			break // another process returned the cursor, and its settled time was later
		}
		if i > 1000 {
			w.t.Fatalf("the changes do not end: cursor %+v at %s", c.cursor, w.clock)
		}
	}
	end := c.cursor.Since
	if !more {
		end = c.settled
	}
	for key := range w.acked {
		r, at := w.readingOf(key), w.store.stored[key]
		if c.device != "" && r.Device != c.device || at.Before(c.since) || !at.Before(end) {
			continue
		}
		if got, ok := c.got[key]; !ok {
			w.t.Fatalf("%s, arrived %s, is missing since %s up to %s, clock %s", key, at, c.since, end, w.clock)
		} else if !got.Equal(at) && w.clock.Sub(at) < lifetime {
			w.t.Fatalf("%s: arrived %s, want %s", key, got, at)
		}
	}
}

func (w *world) readingOf(key string) *varve.Reading {
	i := slices.IndexFunc(w.made, func(r varve.Reading) bool { return r.String() == key })
	if i < 0 {
		panic(fmt.Sprintf("reading %s was never sent", key))
	}
	return &w.made[i]
}
