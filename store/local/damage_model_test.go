package local_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// world is a store with a record of all data that was written to it.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	fs       *vfs.MemFS
	s        *local.Store
	readings map[string]map[int]int64 // for each device, the value of each written reading by its second
	items    map[int]int              // for each item number, the version that was written last
	version  int
	refusal  error // the last refused read
}

const (
	worldDevices = 5
	worldItems   = 12
	worldSeconds = 400
)

func (w *world) open() {
	w.t.Helper()
	var err error
	w.s, err = local.Open(local.Options{
		Dir: "data", FS: w.fs, MemtableBytes: 2000, ChunkReadings: 16, MaxLevel0: 2,
		Events: local.Events{
			Failed: func(what string, err error) { w.t.Errorf("%s: %v", what, err) },
			Fatal:  func(msg string) { w.t.Errorf("fatal: %s", msg) },
		},
	}.WithBlockBytes(300))
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) act() {
	w.t.Helper()
	if w.rng.IntN(3) == 0 {
		w.actItem()
		return
	}
	name := device(w.rng.IntN(worldDevices))
	from, step := w.rng.IntN(worldSeconds), 1+w.rng.IntN(3)
	var list []varve.Reading
	var at []int
	for i := range 1 + w.rng.IntN(60) {
		second := from + i*step
		if second >= worldSeconds {
			break
		}
		r := readings(w.t, week(w.t, 0), name, 1)[0]
		r.Time = r.Time.Add(time.Duration(second) * time.Second)
		r.ID = varve.ID{}
		r.Fields = []varve.Field{{Name: "n", Value: varve.IntValue(int64(second) * 7919)}}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			w.t.Fatal(v)
		}
		list, at = append(list, r), append(at, second)
	}
	result := w.s.Write(w.t.Context(), []store.Batch{{Table: week(w.t, 0), Readings: list}})[0]
	if result.Err != nil {
		w.t.Fatal(result.Err)
	}
	if w.readings[name] == nil {
		w.readings[name] = map[int]int64{}
	}
	for i, v := range result.Verdicts {
		_, known := w.readings[name][at[i]]
		switch {
		case v.Outcome == varve.Rejected && v.Code == varve.CodeDamaged:
		case v.Outcome == varve.Duplicate && known:
		case v.Outcome == varve.Stored && !known:
			w.readings[name][at[i]] = int64(at[i]) * 7919
		default:
			w.t.Fatalf("%s, second %d, known %v: %v; losses %+v", name, at[i], known, v, w.s.Losses())
		}
	}
}

func (w *world) actItem() {
	w.t.Helper()
	n := w.rng.IntN(worldItems)
	w.version++
	version := w.version
	var err error
	if w.rng.IntN(4) == 0 {
		version = 0
		err = w.s.Delete(w.t.Context(), item(n, 1).Key)
	} else {
		err = w.s.Put(w.t.Context(), item(n, version))
	}
	switch {
	case errors.Is(err, store.ErrDamaged):
	case err != nil:
		w.t.Fatal(err)
	default:
		w.items[n] = version
	}
}

// check reads everything. All data must be correct or refused. It reports whether anything was
// refused.
func (w *world) check() (refused bool) {
	w.t.Helper()
	for i := range worldDevices {
		for _, window := range w.windows() {
			refused = w.checkReadings(device(i), window) || refused
		}
	}
	for n := range worldItems {
		got, err := w.s.Get(w.t.Context(), []store.Key{item(n, 1).Key}, true)
		switch want := w.items[n]; {
		case errors.Is(err, store.ErrDamaged):
			refused, w.refusal = true, err
		case err != nil:
			w.t.Fatal(err)
		case want == 0 && len(got) > 0, want > 0 && (len(got) != 1 || !got[0].Attrs["v"].Equal(varve.IntValue(int64(want)))):
			w.t.Fatalf("item %d is %+v, want version %d; losses %+v", n, got, want, w.s.Losses())
		}
	}
	return w.checkQueries() || refused
}

// windows returns windows of event time: the whole range, and narrower ones.
func (w *world) windows() []varve.Window {
	tb := week(w.t, 0)
	list := []varve.Window{tb.Window()}
	for range 3 {
		from := tb.Window().From.Add(time.Duration(w.rng.IntN(worldSeconds)) * time.Second)
		list = append(list, varve.Window{From: from, To: from.Add(time.Duration(1+w.rng.IntN(80)) * time.Second)})
	}
	return list
}

func (w *world) checkReadings(name string, window varve.Window) (refused bool) {
	w.t.Helper()
	tb := week(w.t, 0)
	order := varve.Ascending
	if w.rng.IntN(2) == 0 {
		order = varve.Descending
	}
	r := store.Range{Table: tb, Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: name}, Window: window, Order: order, Limit: 1 + w.rng.IntN(100)}
	seen := map[int]bool{}
	last := -1
	for {
		page, err := readBoth(w.t.Context(), w.s, r, nil)
		if errors.Is(err, store.ErrDamaged) {
			w.refusal = err
			return true
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range page.Readings {
			second := int(page.Readings[i].Time.Sub(tb.Window().From) / time.Second)
			want, ok := w.readings[name][second]
			ordered := last < 0 || order == varve.Ascending == (second > last) && second != last
			if !ok || !ordered || !page.Readings[i].Fields[0].Value.Equal(varve.IntValue(want)) {
				w.t.Fatalf("%s, second %d after %d: %v; losses %+v", name, second, last, page.Readings[i], w.s.Losses())
			}
			seen[second], last = true, second
		}
		if !page.More {
			break
		}
		at := page.Readings[len(page.Readings)-1].Position()
		r.After = &at
	}
	for second := range w.readings[name] {
		if at := tb.Window().From.Add(time.Duration(second) * time.Second); !seen[second] && window.Contains(at) {
			w.t.Fatalf("%s, second %d of %v is absent without an error; losses %+v", name, second, window, w.s.Losses())
		}
	}
	return false
}

func (w *world) checkQueries() (refused bool) {
	w.t.Helper()
	live := map[string]int{}
	for n, version := range w.items {
		if version > 0 {
			live[item(n, 1).SK] = version
		}
	}
	page, err := w.s.Query(w.t.Context(), store.ItemQuery{PK: "P"})
	switch {
	case errors.Is(err, store.ErrDamaged):
		refused, w.refusal = true, err
	case err != nil:
		w.t.Fatal(err)
	case len(page.Items) != len(live):
		w.t.Fatalf("%d items, want %d; losses %+v", len(page.Items), len(live), w.s.Losses())
	}
	for n, version := range w.items {
		if version == 0 {
			continue
		}
		page, err := w.s.Query(w.t.Context(), store.ItemQuery{PK: fmt.Sprintf("g%d", version), Index: store.GSI1})
		switch {
		case errors.Is(err, store.ErrDamaged):
			refused, w.refusal = true, err
		case err != nil:
			w.t.Fatal(err)
		case len(page.Items) != 1 || page.Items[0].Key != item(n, 1).Key:
			w.t.Fatalf("index of item %d, version %d: %+v; losses %+v", n, version, page.Items, w.s.Losses())
		}
	}
	return refused
}

// accept verifies the store and accepts the losses, as a repair does. The remaining items must equal the
// written ones, and the remaining readings must have been written. Then w records only the remaining
// data.
func (w *world) accept() {
	w.t.Helper()
	if err := w.s.Verify(w.t.Context(), local.Pace{}, func(local.Problem) {}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.s.AcceptLosses(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	tb := week(w.t, 0)
	for i := range worldDevices {
		name := device(i)
		left := map[int]int64{}
		for _, r := range all(w.t, w.s, tb, name) {
			second := int(r.Time.Sub(tb.Window().From) / time.Second)
			if _, ok := w.readings[name][second]; !ok {
				w.t.Fatalf("%s, second %d was never written", name, second)
			}
			left[second] = w.readings[name][second]
		}
		w.readings[name] = left
	}
	for n := range worldItems {
		got, err := w.s.Get(w.t.Context(), []store.Key{item(n, 1).Key}, true)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(got) == 0 {
			w.items[n] = 0
		} else if !got[0].Attrs["v"].Equal(varve.IntValue(int64(w.items[n]))) {
			w.t.Fatalf("item %d is %+v after the loss was accepted, want version %d", n, got, w.items[n])
		}
	}
	if w.check() {
		w.t.Fatalf("refused after the losses were accepted: %v (%v); left %+v", w.refusal, errors.Unwrap(w.refusal), w.s.Losses())
	}
}

// harm damages some files of Pebble, and returns a description of the damage.
func (w *world) harm() (what string) {
	w.t.Helper()
	names, err := w.fs.List("data/pebble")
	if err != nil {
		w.t.Fatal(err)
	}
	var tables []string
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			tables = append(tables, "data/pebble/"+name)
		}
	}
	for range min(len(tables), 1+w.rng.IntN(2)) {
		path := tables[w.rng.IntN(len(tables))]
		f, err := w.fs.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			w.t.Fatal(err)
		}
		switch w.rng.IntN(8) {
		case 0:
			what += path + " deleted "
			if err := w.fs.Remove(path); err != nil {
				w.t.Fatal(err)
			}
			continue
		case 1:
			what += path + " truncated "
			data = data[:w.rng.IntN(len(data))]
		default:
			at := w.rng.IntN(len(data))
			what += fmt.Sprintf("%s flipped at %d of %d ", path, at, len(data))
			data[at] ^= 1 << w.rng.IntN(8)
		}
		out, err := w.fs.Create(path, vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = out.Write(data)
		}
		if err := errors.Join(err, out.Close()); err != nil {
			w.t.Fatal(err)
		}
	}
	return what
}

// TestDamage_Model alternates writes, damage and comparisons with a model. Served data must be
// correct, and data that cannot be served must be refused. No data may be silently absent.
func TestDamage_Model(t *testing.T) {
	const damagesOfSeed = 4
	over, total := soakEnds(), 0
	for seed := range seedsFor(*damagesFlag, damagesOfSeed, 40, 6) {
		if over() {
			break
		}
		total += damagesOfSeed
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 99)), fs: vfs.NewMem(), readings: map[string]map[int]int64{}, items: map[int]int{}}
			w.open()
			create(t, w.s, week(t, 0))
			refusals := 0
			for range damagesOfSeed {
				for range 1 + w.rng.IntN(4) {
					for range w.rng.IntN(25) {
						w.act()
					}
					if err := w.s.Close(); err != nil {
						t.Fatal(err)
					}
					w.open()
				}
				if w.check() && len(w.s.Losses()) == 0 {
					t.Fatal("refused without a loss")
				}
				if err := w.s.Close(); err != nil {
					t.Fatal(err)
				}
				what := w.harm()
				w.open()
				if w.check() {
					refusals++
				}
				for range w.rng.IntN(10) {
					w.act()
				}
				if w.rng.IntN(2) == 0 {
					if err := w.s.Close(); err != nil {
						t.Fatal(err)
					}
					w.open()
				}
				w.check()
				if t.Failed() {
					t.Fatal(what)
				}
				if w.rng.IntN(2) == 0 {
					w.accept()
				}
			}
			if err := w.s.Close(); err != nil {
				t.Fatal(err)
			}
			t.Logf("refused after %d of %d damages", refusals, damagesOfSeed)
		})
	}
	t.Logf("%d damages", total)
}
