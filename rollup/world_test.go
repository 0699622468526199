package rollup_test

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

// TB has the methods that testing.TB and rapid.T share.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// start is the time at which each world begins. It is a little more than two days before the end of
// a month.
var start = time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)

const lifetime = 36 * time.Hour

// stored is a reading of the model with its copies.
type stored struct {
	copies []varve.Reading // in the order of their arrival
	tables []grid.Table    // tables to which the copies were written
}

// world simulates a cluster over one store, and has a model of all stored readings. Each test is a
// sequence of steps, and compares roll-ups with a recount of the model after each of them:
//
//	routers     several, with different clocks; a restart loses their memory
//	store       in memory; it can stop a process, or run a function, before any of its calls
//	aggregator  a new process for each run
//	rotator     drops tables, so that roll-ups outlive readings
//	model       each stored reading once, with all of its copies
//
// Numbers are powers of two, so that a sum identifies its readings.
type world struct {
	t       TB
	clock   time.Time
	store   *hooked
	policy  *retention.Policy
	grid    grid.Policy
	skews   []time.Duration // errors of the routers' clocks
	routers []*router.Router
	rotator *rotator.Rotator
	runs    int  // number of aggregator processes
	off     bool // if true, new routers put no markers
	model   map[string]*stored
	made    int // number of readings that were made
	resent  rollup.Resent
	holding *rollup.Reader // caches roll-ups from its first read on
}

func newWorld(t TB) *world {
	w := &world{
		t: t, clock: start, model: map[string]*stored{},
		grid:  grid.Policy{Future: 24 * time.Hour, Recent: 1, Doubling: 60 * 24 * time.Hour},
		skews: []time.Duration{0, -5 * time.Minute, 5 * time.Minute},
		policy: &retention.Policy{Prefix: "v", Classes: []retention.Class{
			{Name: retention.DefaultClass, Retention: lifetime},
		}},
	}
	w.store = &hooked{Store: mem.New(w.now), calls: -1, wrote: w.record}
	w.routers = make([]*router.Router, len(w.skews))
	for i := range w.routers {
		w.restart(i)
	}
	w.startRotator(nil)
	return w
}

// startRotator starts a process with a rotator. If the argument "expirer" is not nil, the rotator also
// deletes single expired readings.
func (w *world) startRotator(expirer store.Expirer) {
	w.rotator = rotator.New(rotator.Options{
		Catalog: w.store, Creator: w.store, Lifecycle: w.store, Items: w.store, Now: w.now, Holder: "rotator",
		Policy:      rotator.Policy{Grid: w.grid, Retention: w.policy, Drop: true, Grace: time.Hour, RecountGrace: rollup.RecountWindow},
		TablesInUse: w.aggregator(0).TablesInUse, ReadingsInUse: w.aggregator(0).ReadingsInUse, Expirer: expirer,
	})
}

func (w *world) now() time.Time { return w.clock }

// at returns a clock that is ahead of the correct time by skew.
func (w *world) at(skew time.Duration) func() time.Time {
	return func() time.Time { return w.clock.Add(skew) }
}

// restart replaces a router with a new one, which has no remembered markers.
func (w *world) restart(i int) {
	now := w.at(w.skews[i])
	o := router.Options{
		Writer: w.store, Creator: w.store, Streams: streams.New(w.store, now), Policy: w.policy, Grid: w.grid, Now: now,
	}
	if !w.off {
		o.Tracker = rollup.NewTracker(w.store, now)
	}
	w.routers[i] = router.New(o)
}

func (w *world) setRollups(on bool) {
	w.off = !on
	for i := range w.routers {
		w.restart(i)
	}
}

func (w *world) source(now func() time.Time) *query.Engine {
	return query.New(query.Options{Reader: w.store, Catalog: w.store, Streams: streams.New(w.store, now), Policy: w.policy, Now: now})
}

// aggregator returns an aggregator with a holder name of its own, as a new process would have.
func (w *world) aggregator(skew time.Duration) *rollup.Aggregator {
	w.runs++
	now := w.at(skew)
	return rollup.NewAggregator(rollup.AggregatorOptions{
		Items: w.store, Source: w.source(now), Now: now, Holder: fmt.Sprint("worker ", w.runs), Resent: w.resent,
	})
}

func key(r *varve.Reading) string { return r.String() }

func (w *world) record(b store.Batch, res store.Result) {
	for i := range b.Readings {
		if res.Verdicts[i].Outcome != varve.Stored {
			continue
		}
		r := b.Readings[i].Clone()
		c := w.model[key(&r)]
		if c == nil {
			c = &stored{}
			w.model[key(&r)] = c
		}
		c.copies, c.tables = append(c.copies, r), append(c.tables, b.Table)
		slices.SortStableFunc(c.copies, func(a, b varve.Reading) int { return a.Arrived.Compare(b.Arrived) })
	}
}

// reading returns a reading whose number is a unique power of two, so that a sum shows which
// readings it includes. Every seventh reading has only text.
func (w *world) reading(device string, at time.Time) varve.Reading {
	w.made++
	r := varve.Reading{
		Series: varve.Series{Tenant: "acme", Stream: "weather", Device: device}, Time: at,
		Fields: []varve.Field{{Name: "n", Value: varve.StringValue(fmt.Sprint(w.made))}},
	}
	if w.made%7 != 0 {
		r.Fields = append(r.Fields, varve.Field{Name: "v", Value: varve.NumberValue(powerOfTwo(w.made))})
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		w.t.Fatalf("%s", v)
	}
	return r
}

func powerOfTwo(n int) varve.Number {
	v, err := decimal.Parse(new(big.Int).Lsh(big.NewInt(1), uint(n%126)).String())
	if err != nil {
		panic(err)
	}
	return v
}

// send writes readings through a router. It calls the function "while" after the arrival of the
// request and before the readings are written.
func (w *world) send(i int, while func(), readings ...varve.Reading) []varve.Verdict {
	q, err := w.routers[i].Admit()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	defer q.Done()
	if while != nil {
		while()
	}
	list, verdicts := make([]varve.Reading, len(readings)), make([]varve.Verdict, len(readings))
	for j := range readings {
		list[j] = readings[j].Clone()
	}
	if err := q.Write(context.Background(), list, verdicts); err != nil {
		w.t.Fatalf("%v", err)
	}
	return verdicts
}

// expected returns the distinct readings of a device in the model, by period.
func (w *world) expected(device string, p rollup.Period) map[int64][]varve.Reading {
	return w.expectedAsOf(device, p, time.Time{})
}

// expectedAsOf is like expected, but excludes readings whose first copy arrived after a time. Of the
// versions of a reading, only the highest one counts.
func (w *world) expectedAsOf(device string, p rollup.Period, asOf time.Time) map[int64][]varve.Reading {
	width := int64(3600)
	if p == rollup.Daily {
		width = 86400
	}
	newest := map[varve.Position]varve.Reading{} // newest version of each reading, by position without version
	for _, c := range w.model {
		r, at := c.copies[0], c.copies[0].Position()
		if at.ID = at.ID.WithVersion(0); r.Device != device || !asOf.IsZero() && r.Arrived.After(asOf) {
			continue
		}
		if known, ok := newest[at]; !ok || known.ID.Version() < r.ID.Version() {
			newest[at] = r
		}
	}
	periods := map[int64][]varve.Reading{}
	for _, r := range newest {
		at := r.Time.Unix() / width * width
		periods[at] = append(periods[at], r)
	}
	for _, list := range periods {
		slices.SortFunc(list, func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
	}
	return periods
}

// recount computes the roll-up of readings, and formats it as show does. The readings must be in
// the order of their positions.
func recount(at int64, readings []varve.Reading) string {
	text := fmt.Sprintf("%s %d", time.Unix(at, 0).UTC().Format(time.RFC3339), len(readings))
	var low, high, sum *big.Int
	var first, last string
	n := 0
	for i := range readings {
		f := readings[i].Field("v")
		if f.Kind() != varve.KindNumber {
			continue
		}
		v, _ := new(big.Int).SetString(f.String(), 10)
		if n++; n == 1 {
			low, high, sum = v, v, new(big.Int)
			first = readings[i].Time.Format(time.RFC3339Nano) + "=" + v.String()
		}
		if v.Cmp(low) < 0 {
			low = v
		}
		if v.Cmp(high) > 0 {
			high = v
		}
		sum.Add(sum, v)
		last = readings[i].Time.Format(time.RFC3339Nano) + "=" + v.String()
	}
	if n > 0 {
		text += fmt.Sprintf(" v: %d %s %s..%s %s %s", n, sum, low, high, first, last)
	}
	return text
}

func show(at time.Time, p *rollup.Partial) string {
	text := fmt.Sprintf("%s %d", at.Format(time.RFC3339), p.Readings)
	for i := range p.Fields {
		f := &p.Fields[i]
		text += fmt.Sprintf(" %s: %d %s %s..%s %s=%s %s=%s", f.Name, f.Count, plain(&f.Sum), whole(f.Min), whole(f.Max),
			f.First.Time().Format(time.RFC3339Nano), whole(f.First.Value), f.Last.Time().Format(time.RFC3339Nano), whole(f.Last.Value))
	}
	return text
}

// plain formats an integer without an exponent.
func plain(d *decimal.Sum) string {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok || !r.IsInt() {
		return "? " + d.String()
	}
	return r.Num().String()
}

func whole(n varve.Number) string {
	var d decimal.Sum
	d.Add(n)
	return plain(&d)
}

func (w *world) read(device string, p rollup.Period, limit int) (all []rollup.Rollup) {
	all, err := w.readAsOf(device, p, limit, time.Time{})
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return all
}

// readAsOf returns all roll-ups of a device as of a time. The zero time means now.
func (w *world) readAsOf(device string, p rollup.Period, limit int, asOf time.Time) (all []rollup.Rollup, err error) {
	r := rollup.NewReader(w.store, w.source(w.now), w.resent)
	q := rollup.Query{
		Series: varve.Series{Tenant: "acme", Stream: "weather", Device: device}, Period: p, Limit: limit, Window: varve.AllTime(), AsOf: asOf,
	}
	for {
		page, err := r.Read(context.Background(), q)
		if err != nil {
			return nil, err
		}
		if limit > 0 && len(page.Rollups) > limit {
			w.t.Fatalf("%d roll-ups on a page of %d", len(page.Rollups), limit)
		}
		all = append(all, page.Rollups...)
		if page.Next.IsZero() {
			return all, nil
		}
		if !page.Next.After(q.Window.From) {
			w.t.Fatalf("the page from %s goes on at %s", q.Window.From, page.Next)
		}
		q.Window.From = page.Next
	}
}

// check compares all roll-ups with a recount of the model.
func (w *world) check(what string) {
	w.t.Helper()
	for _, device := range devices {
		for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
			var got []string
			list := w.read(device, p, 3)
			for _, r := range list {
				got = append(got, show(r.Start, &r.Partial))
			}
			w.compare(fmt.Sprintf("%s: %s of %s", what, p, device), got, w.expected(device, p))
			w.checkFields(what, device, p, list)
			w.checkPages(what, device, p, list)
		}
	}
}

func (w *world) compare(what string, got []string, want map[int64][]varve.Reading) {
	w.t.Helper()
	var lines []string
	for at, readings := range want {
		lines = append(lines, recount(at, readings))
	}
	slices.Sort(lines)
	if g, l := strings.Join(got, "\n"), strings.Join(lines, "\n"); g != l {
		w.t.Fatalf("at %s, %s:\ngot\n%s\nwant\n%s\n%s", w.clock.Format(time.RFC3339), what, g, l, w.dump())
	}
}

func (w *world) dump() string {
	var b strings.Builder
	for _, device := range devices {
		page, err := w.store.Store.Query(context.Background(), itemsOf(device))
		if err != nil {
			return err.Error()
		}
		for _, it := range page.Items {
			fmt.Fprintf(&b, "%s %s %v\n", it.PK, it.SK, it.Attrs)
		}
	}
	return b.String()
}

var devices = []string{"a", "b/c"}

func itemsOf(device string) store.ItemQuery {
	return store.ItemQuery{PK: "ROLLUP#acme/weather/" + device, Consistent: true}
}

// dropSketches rewrites the partials of a device as older versions of Varve wrote them, without
// the sketches that identify their readings.
func (w *world) dropSketches(device string) {
	w.t.Helper()
	page, err := w.store.Store.Query(context.Background(), itemsOf(device))
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	for _, it := range page.Items {
		delete(it.Attrs, "prints")
		delete(it.Attrs, "minutes")
	}
	if err := w.store.Store.PutAll(context.Background(), page.Items); err != nil {
		w.t.Fatalf("%v", err)
	}
}
