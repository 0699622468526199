package rollup_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

func (w *world) fieldWindow() varve.Window {
	return varve.Window{From: start.Add(-1100 * 24 * time.Hour), To: w.clock.Add(60 * 24 * time.Hour)}
}

// readField reads the roll-ups of field v with w.holding, a reader that caches roll-ups.
func (w *world) readField(device string, p rollup.Period) (all []rollup.FieldRollup) {
	if w.holding == nil {
		w.holding = rollup.NewReader(w.store, w.source(w.now), w.resent)
	}
	lists, err := w.holding.ReadField(context.Background(), rollup.FieldQuery{
		Series: varve.Series{Tenant: "acme", Stream: "weather", Device: device}, Period: p, Window: w.fieldWindow(), Field: "v",
	})
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

func showField(r *rollup.FieldRollup) string {
	var sum decimal.Sum
	r.AddTo(&sum)
	return fmt.Sprintf("%d: %d %s %v %v %s..%s last %s", r.Start(), r.Count(), plain(&sum), r.Sum(), r.Mean(), whole(r.Min()), whole(r.Max()), whole(r.Last()))
}

// checkFields reads the roll-ups of field v with a caching reader, and compares them with a list
// from Read.
func (w *world) checkFields(what, device string, p rollup.Period, list []rollup.Rollup) {
	w.t.Helper()
	var got, want []string
	for _, r := range w.readField(device, p) {
		got = append(got, showField(&r))
	}
	for i := range list {
		if f := list[i].Field("v"); f != nil {
			mean := f.Sum.Mean(f.Count)
			want = append(want, fmt.Sprintf("%d: %d %s %v %v %s..%s last %s", list[i].Start.Unix()/3600/map[rollup.Period]int64{rollup.Hourly: 1, rollup.Daily: 24}[p],
				f.Count, plain(&f.Sum), f.Sum.Float64(), mean.Float64(), whole(f.Min), whole(f.Max), whole(f.Last.Value)))
		}
	}
	if g, l := strings.Join(got, "\n"), strings.Join(want, "\n"); g != l {
		w.t.Fatalf("%s: %s of %s:\ngot\n%s\nwant\n%s\n%s", what, p, device, g, l, w.dump())
	}
}

func (w *world) fieldSums(device string, p rollup.Period) map[int64]*big.Int {
	width, found := int64(3600), map[int64]*big.Int{}
	if p == rollup.Daily {
		width = 86400
	}
	for _, r := range w.readField(device, p) {
		var d decimal.Sum
		r.AddTo(&d)
		sum, _ := new(big.Int).SetString(plain(&d), 10)
		found[r.Start()*width] = sum
	}
	return found
}

// countingItems counts the queries whose ranges do not begin with dirty markers.
type countingItems struct {
	*mem.Store
	partials int
}

func (c *countingItems) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	if !strings.HasPrefix(q.From, "X#") {
		c.partials++
	}
	return c.Store.Query(ctx, q)
}

// TestReadField_CachesRollups checks that a second read takes stored roll-ups from the cache, and
// that the read after a late reading includes this reading.
func TestReadField_CachesRollups(t *testing.T) {
	w := newWorld(t)
	at := w.clock.Add(-30 * 24 * time.Hour)
	for i := range 24 * 20 {
		w.send(0, nil, w.reading("a", at.Add(time.Duration(i)*time.Hour)))
	}
	w.clock = w.clock.Add(3 * time.Hour)
	m := &steps{world: w}
	m.finish()
	items := &countingItems{Store: w.store.Store}
	r := rollup.NewReader(items, w.source(w.now), w.resent)
	for i, c := range []struct{ hours, days int }{{0, 2}, {0, 0}, {1, 1}} {
		if i == 2 {
			w.send(0, nil, w.reading("a", at.Add(time.Minute)))
			w.clock = w.clock.Add(3 * time.Hour)
			m.finish()
		}
		for p, want := range map[rollup.Period]int{rollup.Hourly: c.hours, rollup.Daily: c.days} {
			items.partials = 0
			q := rollup.FieldQuery{Series: w.reading("a", at).Series, Period: p, Window: varve.Window{From: at, To: at.Add(20 * 24 * time.Hour)}, Field: "v"}
			lists, err := r.ReadField(t.Context(), q)
			if err != nil || len(lists) == 0 {
				t.Fatal(lists, err)
			}
			if first := lists[0][0]; first.Count() != int64(1+i/2) && p == rollup.Hourly {
				t.Errorf("read %d: the first hour has %d numbers", i, first.Count())
			}
			if i > 0 && items.partials != want {
				t.Errorf("read %d, %s: %d queries for partials, want %d", i, p, items.partials, want)
			}
		}
	}
}

// TestFieldCache_IsBounded fills a cache with more lists than fit. The cache must stay within its
// limit, and count the size of its lists correctly.
func TestFieldCache_IsBounded(t *testing.T) {
	if lists, bytes, sum := rollup.FillFieldCache(1000, 100_000); bytes > 100_000 || bytes != sum || lists < 10 {
		t.Errorf("%d lists of %d bytes, which are counted as %d, in a cache of 100,000 bytes", lists, sum, bytes)
	}
}
