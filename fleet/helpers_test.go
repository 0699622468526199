package fleet_test

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
	"github.com/varvedb/varve/fleet"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// noon is when most tests take place.
var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

var errDisk = errors.New("the disk is full")

const tenant = varve.DefaultTenant

// counted is a store in memory that counts writes, and can be told to fail
// them.
type counted struct {
	*mem.Store
	mu   sync.Mutex
	puts map[string]int // by sort key
	// batches is how many items each PutAbsent had.
	batches []int
	fail    func(store.Key) error
	gets    int
	// queries counts those of partitions; unreadable, if set, is what they fail
	// with.
	queries    int
	unreadable error
	// lagging, if set, changes what reads return that need not be consistent.
	lagging func([]store.Item)
}

func (c *counted) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	c.mu.Lock()
	c.queries++
	err := c.unreadable
	c.mu.Unlock()
	if err != nil {
		return store.ItemPage{}, err
	}
	return c.Store.Query(ctx, q)
}

// failOn fails writes of items whose sort keys begin with one of the texts.
func failOn(prefixes ...string) func(store.Key) error {
	return func(k store.Key) error {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(k.SK, p) }) {
			return errDisk
		}
		return nil
	}
}

func (c *counted) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	c.mu.Lock()
	fail := c.fail
	c.puts[it.SK]++
	c.mu.Unlock()
	if fail != nil {
		if err := fail(it.Key); err != nil {
			return err
		}
	}
	return c.Store.Put(ctx, it, conds...)
}

func (c *counted) PutAbsent(ctx context.Context, items []store.Item) ([]bool, error) {
	c.mu.Lock()
	fail := c.fail
	c.batches = append(c.batches, len(items))
	for i := range items {
		c.puts[items[i].SK]++
	}
	c.mu.Unlock()
	for i := range items {
		if fail != nil {
			if err := fail(items[i].Key); err != nil {
				return nil, err
			}
		}
	}
	return c.Store.PutAbsent(ctx, items)
}

func (c *counted) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	c.mu.Lock()
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		if err := fail(k); err != nil {
			return err
		}
	}
	return c.Store.Delete(ctx, k, conds...)
}

func (c *counted) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	c.mu.Lock()
	c.gets++
	lagging := c.lagging
	c.mu.Unlock()
	items, err := c.Store.Get(ctx, keys, consistent)
	if !consistent && lagging != nil {
		lagging(items)
	}
	return items, err
}

func (c *counted) failing(fail func(store.Key) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
}

func (c *counted) putsOf(sk string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.puts[sk]
}

// world is a fleet over a store in memory, and readings that are stored.
type world struct {
	*fleet.Fleet
	t       testing.TB
	options fleet.Options
	items   *counted

	mu       sync.Mutex
	clock    time.Time
	readings map[varve.Series][]varve.Reading // sorted by position
	failed   []error
	read     int // readings that were handed on
	asked    int // for last arrivals
}

func newWorld(t testing.TB, change ...func(*fleet.Options)) *world {
	w := &world{t: t, clock: noon, readings: map[varve.Series][]varve.Reading{}}
	w.items = &counted{Store: mem.New(w.now), puts: map[string]int{}}
	o := fleet.Options{
		Items: w.items, Source: w, Now: w.now, Holder: "test",
		Policy: &retention.Policy{Prefix: "varve", Classes: []retention.Class{
			{Name: "default", Retention: 365 * 24 * time.Hour}, {Name: "audit", Retention: retention.Forever}, {Name: "long", Retention: 3 * 365 * 24 * time.Hour},
		}, Streams: map[string]retention.Stream{"ledger": {Class: "audit"}}},
		Events: fleet.Events{Failed: func(_ string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		}},
	}
	for _, c := range change {
		c(&o)
	}
	w.options, w.Fleet = o, fleet.New(o)
	t.Cleanup(w.Close)
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

// Read implements fleet.Source.
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

// LastArrival implements fleet.Source.
func (w *world) LastArrival(_ context.Context, s varve.Series) (last time.Time, found bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	for _, r := range w.readings[s] {
		if r.Arrived.After(last) {
			last, found = r.Arrived, true
		}
	}
	return last, found, nil
}

// StreamsOf implements fleet.Source.
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

// reading is a reading of stream weather.
func reading(device string, at time.Time, fields ...varve.Field) varve.Reading {
	if len(fields) == 0 {
		fields = []varve.Field{{Name: "v", Value: varve.IntValue(1)}}
	}
	return varve.Reading{Series: varve.Series{Tenant: tenant, Stream: "weather", Device: device}, Time: at, Fields: fields}
}

// store puts readings where they are found, and returns their verdicts, without
// telling the fleet.
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

// send is a write: readings are stored, and the fleet is told.
func (w *world) send(readings ...varve.Reading) []varve.Verdict {
	w.t.Helper()
	verdicts := w.store(readings)
	must(w.t, w.Watch(w.t.Context(), w.now(), readings, verdicts))
	return verdicts
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// invalid expects an Invalid error about a parameter that says something.
func invalid(t *testing.T, err error, param, says string) {
	t.Helper()
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Invalid || e.Param != param || !strings.Contains(e.Message, says) {
		t.Errorf("%v: want an error about %s that says %q", err, param, says)
	}
}

// alias returns bytes as a string without copying them, as parsers do.
func alias(b []byte) string { return unsafe.String(&b[0], len(b)) }
