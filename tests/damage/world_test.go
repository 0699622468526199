package damage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

var arrived = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world defines the content of a store.
type world struct {
	name     string
	tables   []grid.Table
	devices  int
	each     int   // number of readings of each device in a table
	items    int   // number of items
	text     int   // bytes of text in each reading
	closed   bool  // whether the process that fills the store closes it; otherwise the test kills the process
	memtable int64 // local.Options.MemtableBytes

	made map[[2]int][]varve.Reading // cached readings, by the indexes of their table and device
}

// worlds returns the worlds whose stores the test damages.
func worlds() []world {
	return []world{
		{name: "small", tables: tables(2), devices: 4, each: 40, items: 40, memtable: 1 << 20},
		{name: "small closed", tables: tables(2), devices: 4, each: 40, items: 40, memtable: 1 << 20, closed: true},
		{name: "medium", tables: tables(3), devices: 8, each: 600, items: 200, text: 30, memtable: 64 << 10},
		{name: "large closed", tables: tables(3), devices: 16, each: 1200, items: 600, text: 200, memtable: 1 << 20, closed: true},
	}
}

func tables(n int) (list []grid.Table) {
	month := grid.MonthOf(arrived)
	for i := range n {
		r, ok := grid.DefaultPolicy().Locate(arrived.AddDate(0, 0, -7*i), month)
		if !ok {
			panic("no table for this week")
		}
		list = append(list, grid.Table{Prefix: "t", Range: r, Month: month})
	}
	return list
}

func (w *world) options(dir string) local.Options {
	return local.Options{
		Dir: dir, MemtableBytes: w.memtable, ChunkReadings: 64, MaxLevel0: 4, MinFree: -1,
		Now: func() time.Time { return arrived },
	}
}

func (w *world) series(device int) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: fmt.Sprintf("device-%03d", device)}
}

// readings returns the readings of a device in a table, one per minute. Callers must not change
// them.
func (w *world) readings(table, device int) []varve.Reading {
	if list, ok := w.made[[2]int{table, device}]; ok {
		return list
	}
	list := w.makeReadings(table, device)
	if w.made == nil {
		w.made = map[[2]int][]varve.Reading{}
	}
	w.made[[2]int{table, device}] = list
	return list
}

func (w *world) makeReadings(table, device int) []varve.Reading {
	rng := rand.New(rand.NewPCG(uint64(table), uint64(device)))
	list := make([]varve.Reading, w.each)
	for i := range list {
		r := &list[i]
		r.Series = w.series(device)
		r.Time = w.tables[table].Window().From.Add(time.Duration(i) * time.Minute)
		r.Arrived = arrived
		r.Fields = []varve.Field{{Name: "n", Value: varve.IntValue(rng.Int64N(1000))}}
		if w.text > 0 {
			text := make([]byte, w.text)
			for j := range text {
				text[j] = byte('!' + rng.IntN(90))
			}
			r.Fields = append(r.Fields, varve.Field{Name: "text", Value: varve.StringValue(string(text))})
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			panic(v.Message)
		}
	}
	return list
}

// item returns item i. Items are in several partitions, for API keys, devices and rules.
func (w *world) item(i int) store.Item {
	kind := [...]string{"KEY", "DEVICE", "RULE"}[i%3]
	it := store.Item{
		Key:   store.Key{PK: kind + "#default", SK: fmt.Sprintf("%05d", i)},
		Attrs: map[string]varve.Value{"value": varve.IntValue(int64(i) * 7919), "name": varve.StringValue(fmt.Sprintf("%s %*d", kind, w.text, i))},
	}
	if i%2 == 0 {
		it.GSI1 = store.Key{PK: "STATUS#active", SK: it.SK}
	}
	return it
}

// fill writes the content of the world. It writes items between the readings, so that the segments of
// the journal contain both.
func (w *world) fill(s *local.Store) error {
	ctx := context.Background()
	for _, t := range w.tables {
		if err := s.Create(ctx, t, store.Hot); err != nil {
			return err
		}
	}
	if err := s.Hold(ctx, w.tables[0], "held for the test"); err != nil {
		return err
	}
	writes, next := w.writes(), 0
	for i := range writes {
		if res := s.Write(ctx, writes[i:i+1])[0]; res.Err != nil {
			return res.Err
		}
		for ; next < w.items*(i+1)/len(writes); next++ {
			if err := s.Put(ctx, w.item(next)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writes returns the writes of readings that fill makes, in order.
func (w *world) writes() (list []store.Batch) {
	for device := range w.devices {
		for table := range w.tables {
			for part := range slices.Chunk(w.readings(table, device), 100) {
				list = append(list, store.Batch{Table: w.tables[table], Readings: part})
			}
		}
	}
	return list
}

func (w *world) tableOf(r *varve.Reading) string {
	i := slices.IndexFunc(w.tables, func(t grid.Table) bool { return t.Contains(r.Time) })
	return w.tables[i].Name()
}

// compare reads all data of the world, and returns the number of reads that the store refused. It fails
// the test for each wrong value. If lossy is true, it returns the missing readings and items. Otherwise a
// missing reading or item fails the test, too.
func (w *world) compare(t *testing.T, s *local.Store, lossy bool) (refused int, missing []varve.Reading, lost []store.Key) {
	t.Helper()
	for i := range w.tables {
		for d := range w.devices {
			n, gone := w.compareSeries(t, s, i, d, lossy)
			refused += n
			missing = append(missing, gone...)
		}
	}
	n, gone := w.compareItems(t, s, lossy)
	return refused + n, missing, gone
}

func (w *world) compareSeries(t *testing.T, s *local.Store, table, device int, lossy bool) (refused int, missing []varve.Reading) {
	t.Helper()
	want := w.readings(table, device)
	// The window is read day by day, because a damaged block fails only the reads that need the
	// block.
	span := w.tables[table].Window()
	for from := span.From; from.Before(span.To); from = from.Add(24 * time.Hour) {
		window := varve.Window{From: from, To: from.Add(24 * time.Hour)}
		got, err := readAll(t.Context(), s, w.tables[table], w.series(device), window)
		if err != nil {
			if !isDamaged(err) {
				t.Errorf("%s of %s: %v: want a reading or damage", w.series(device), w.tables[table], err)
			}
			refused++
			continue
		}
		at := map[int64]*varve.Reading{}
		for i := range got {
			at[got[i].Time.UnixNano()] = &got[i]
		}
		found := 0
		for i := range want {
			if !window.Contains(want[i].Time) {
				continue
			}
			r, ok := at[want[i].Time.UnixNano()]
			switch {
			case !ok && lossy:
				missing = append(missing, want[i])
			case !ok:
				t.Errorf("%s of %s at %s is missing without a word", w.series(device), w.tables[table], want[i].Time)
				return refused, missing
			case !sameReading(r, &want[i]):
				t.Errorf("%s of %s at %s is %v, was written as %v", w.series(device), w.tables[table], want[i].Time, r.Fields, want[i].Fields)
			default:
				found++
			}
		}
		if len(got) > found {
			t.Errorf("%s of %s from %s: %d readings, of which %d were written", w.series(device), w.tables[table], from, len(got), found)
		}
	}
	return refused, missing
}

func (w *world) compareItems(t *testing.T, s *local.Store, lossy bool) (refused int, missing []store.Key) {
	t.Helper()
	listed := map[store.Key]bool{}
	for _, pk := range []string{"KEY#default", "DEVICE#default", "RULE#default"} {
		page, err := s.Query(t.Context(), store.ItemQuery{PK: pk, Consistent: true})
		if isDamaged(err) {
			refused++
			for i := range w.items {
				listed[w.item(i).Key] = listed[w.item(i).Key] || w.item(i).PK == pk
			}
			continue
		}
		if err != nil {
			t.Errorf("items of %s: %v", pk, err)
		}
		for i := range page.Items {
			listed[page.Items[i].Key] = true
		}
	}
	for i := range w.items {
		want := w.item(i)
		got, err := s.Get(t.Context(), []store.Key{want.Key}, true)
		switch {
		case isDamaged(err):
			refused++
		case err != nil:
			t.Errorf("item %v: %v", want.Key, err)
		case len(got) == 0 && lossy:
			missing = append(missing, want.Key)
		case len(got) == 0:
			t.Errorf("item %v is missing without a word", want.Key)
			return refused, missing
		case !got[0].Attrs["value"].Equal(want.Attrs["value"]) || !got[0].Attrs["name"].Equal(want.Attrs["name"]):
			t.Errorf("item %v is %v, was written as %v", want.Key, got[0].Attrs, want.Attrs)
		case !listed[want.Key]:
			t.Errorf("item %v is not listed in its partition", want.Key)
		}
	}
	return refused, missing
}

func sameReading(a, b *varve.Reading) bool {
	if len(a.Fields) != len(b.Fields) || a.ID != b.ID || !a.Arrived.Equal(b.Arrived) {
		return false
	}
	for i := range a.Fields {
		if a.Fields[i].Name != b.Fields[i].Name || !a.Fields[i].Value.Equal(b.Fields[i].Value) {
			return false
		}
	}
	return true
}

func readAll(ctx context.Context, s *local.Store, in grid.Table, of varve.Series, window varve.Window) (list []varve.Reading, err error) {
	r := store.Range{Table: in, Series: of, Window: window, Order: varve.Ascending, Consistent: true}
	for {
		page, err := s.Read(ctx, r, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Readings...)
		if !page.More {
			return list, nil
		}
		at := list[len(list)-1].Position()
		r.After = &at
	}
}
