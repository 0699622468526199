package memtable_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

const cacheBase = 1_800_000_000_000

var cacheSeries = varve.Series{Tenant: "default", Stream: "s", Device: "d"}

// cacheMachine writes random readings of one series to a memtable, and reads random ranges of them.
type cacheMachine struct {
	limits memtable.Caching
	m      *memtable.Shard
	rows   *memtable.Rows
	last   int64       // event time of the reading that was appended last, in seconds since 1970
	block  block.Block // reused by all reads
}

// genCached draws a reading. In most readings, the fields "a" and "b" are numbers, because columns that
// contain only numbers have a compact form.
func genCached(t *rapid.T, second int64) varve.Reading {
	arrived := rapid.SampledFrom([]int64{0, 1, 300, 70_000, -5, 5_000_000_000}).Draw(t, "arrived")
	r := varve.Reading{
		Series: cacheSeries, Time: time.Unix(second, rapid.SampledFrom([]int64{0, 0, 1, 999_999_999}).Draw(t, "ns")).UTC(),
		Arrived: time.UnixMilli(cacheBase + arrived).UTC(),
	}
	plain := rapid.IntRange(0, 3).Draw(t, "other values") > 0
	for _, name := range []string{"a", "b"} {
		v := varve.NumberValue(decimal.FromScaled(rapid.SampledFrom([]int64{215, -3, 0, 70_000, 1 << 40, math.MaxInt64 >> 4, -1 << 59}).Draw(t, "tenths"), -1))
		if !plain {
			if rapid.IntRange(0, 3).Draw(t, "lacks") == 0 {
				continue
			}
			v = genValue(t)
		}
		r.Fields = append(r.Fields, varve.Field{Name: name, Value: v})
	}
	r.Fields = append(r.Fields, varve.Field{Name: "c", Value: varve.BoolValue(rapid.Bool().Draw(t, "bool"))})
	if rapid.IntRange(0, 9).Draw(t, "own id") == 0 {
		r.ID, _ = varve.ParseID(fmt.Sprint("own", second)) // no error, because the text is a valid id
	}
	memtable.SetID(&r)
	return r
}

func (c *cacheMachine) add(r *varve.Reading, late bool) {
	bodies, e := memtable.Encode(nil, r, cacheBase)
	shape := c.m.Shape(r.Fields, 0)
	if !late {
		c.m.Append(c.rows, []memtable.Entry{e}, shape, bodies)
		return
	}
	if at, found := c.rows.Find(&c.m.Content, r.Position()); !found {
		c.m.Insert(c.rows, at, e, shape, bodies)
	}
}

func (c *cacheMachine) appendSome(t *rapid.T) {
	for range rapid.IntRange(1, 12).Draw(t, "readings") {
		c.last += rapid.SampledFrom([]int64{10, 10, 10, 11}).Draw(t, "gap")
		r := genCached(t, c.last)
		c.add(&r, false)
	}
}

func (c *cacheMachine) insert(t *rapid.T) {
	r := genCached(t, rapid.Int64Range(0, c.last+1).Draw(t, "second"))
	c.add(&r, true)
}

// replace begins a new memtable, as a rotation does.
func (c *cacheMachine) replace(*rapid.T) {
	c.m, c.rows = memtable.New(0, 1, c.limits).Shards[0], new(memtable.Rows)
}

// read divides a random range of rows into runs, as View.Run returns them. It compares the columns of each
// run with its rows.
func (c *cacheMachine) read(t *rapid.T) {
	begin := varve.Position{Time: rapid.Int64Range(0, c.last).Draw(t, "from") * 1e9}
	from, to := c.rows.Seek(&c.m.Content, begin), c.rows.End()
	n := rapid.IntRange(1, 60).Draw(t, "most")
	desc := rapid.Bool().Draw(t, "desc")
	sel := c.rows.FirstRows(n, from, to)
	if desc {
		sel = c.rows.LastRows(n, from, to)
	}
	if sel.Len() == 0 {
		return
	}
	v := c.m.View(cacheSeries, cacheBase, sel)
	defer v.Release()
	if last := v.Time(v.Len() - 1); v.Len() > n || v.Time(0) < begin.Time || desc && last != c.rows.LastTime() {
		t.Fatalf("%d rows to %d, want at most %d rows to %d", v.Len(), last, n, c.rows.LastTime())
	}
	low, high := 0, v.Len()
	if rapid.Bool().Draw(t, "part") {
		low = rapid.IntRange(0, v.Len()-1).Draw(t, "low")
		high = rapid.IntRange(low+1, v.Len()).Draw(t, "high")
	}
	for low < high {
		from, to := v.Run(low, high, desc)
		if from < low || to > high || from >= to || !desc && from != low || desc && to != high {
			t.Fatalf("run of %d to %d, desc %v: %d to %d", low, high, desc, from, to)
		}
		c.compareRun(t, v, from, to)
		if low = to; desc {
			low, high = 0, from
		}
	}
}

func (c *cacheMachine) compareRun(t *rapid.T, v *memtable.View, from, to int) {
	if err := v.LoadColumns(from, to, &c.block); err != nil || c.block.Len() != to-from {
		t.Fatalf("rows %d to %d: %d columns, %v", from, to, c.block.Len(), err)
	}
	for i := range to - from {
		var got, want varve.Reading
		c.block.Fill(i, &got)
		if err := v.Fill(from+i, &want, new(chunk.Arena)); err != nil {
			t.Fatal(err)
		}
		if !got.Equal(&want) || !got.Arrived.Equal(want.Arrived) || got.ID != want.ID || fmt.Sprint(got.Fields) != fmt.Sprint(want.Fields) {
			t.Fatalf("reading %d: got %v %v, want %v %v", from+i, &got, got.Fields, &want, want.Fields)
		}
	}
}

func (c *cacheMachine) check(t *rapid.T) {
	_, counted, sum := c.m.CacheSize()
	if counted != sum || counted > max(c.limits.Bytes, 0) {
		t.Fatalf("the cache counts %d B, and its entries have %d B of at most %d B", counted, sum, c.limits.Bytes)
	}
}

// TestView_CachedColumnsEqualRows compares cached columns with rows, while rows are appended and
// inserted, and row blocks are split. Many caches are too small for all rows.
func TestView_CachedColumnsEqualRows(t *testing.T) {
	defer memtable.SetBlockRows(16)()
	rapid.Check(t, func(t *rapid.T) {
		c := &cacheMachine{limits: memtable.Caching{
			Bytes:   rapid.SampledFrom([]int64{0, 1, 1500, 4000, 1 << 20}).Draw(t, "bytes"),
			MinRows: rapid.IntRange(1, 8).Draw(t, "min rows"),
		}}
		c.replace(t)
		t.Repeat(map[string]func(*rapid.T){
			"append": c.appendSome, "insert": c.insert, "read": c.read, "read ": c.read, "replace": c.replace, "": c.check,
		})
	})
}

// addPlain appends n readings with one number each, ten seconds apart.
func (c *cacheMachine) addPlain(n int) {
	for range n {
		c.last += 10
		c.add(&varve.Reading{
			Series: cacheSeries, Time: time.Unix(c.last, 0), Arrived: time.UnixMilli(cacheBase),
			Fields: []varve.Field{{Name: "a", Value: varve.IntValue(c.last)}},
		}, false)
	}
}

// readRows loads the columns of n rows, beginning with the row with the index "first". It returns the
// number of runs into which View.Run divides the rows.
func (c *cacheMachine) readRows(t *testing.T, first, n int) (runs int) {
	t.Helper()
	begin := varve.Position{Time: int64(first+1) * 10 * 1e9}
	v := c.m.View(cacheSeries, cacheBase, c.rows.FirstRows(n, c.rows.Seek(&c.m.Content, begin), c.rows.End()))
	defer v.Release()
	for from := 0; from < v.Len(); runs++ {
		_, to := v.Run(from, v.Len(), false)
		if err := v.LoadColumns(from, to, &c.block); err != nil {
			t.Fatal(err)
		}
		from = to
	}
	return runs
}

// TestCache_HoldsSecondRead shows the rules of the cache: columns are cached at their second read,
// appended rows leave them valid, and an insert does not.
func TestCache_HoldsSecondRead(t *testing.T) {
	c := &cacheMachine{limits: memtable.Caching{Bytes: 1 << 20, MinRows: 64}}
	c.replace(nil)
	expect := func(what string, wantRuns, wantEntries int) {
		t.Helper()
		runs := c.readRows(t, 0, c.rows.Len())
		if entries, _, _ := c.m.CacheSize(); entries != wantEntries || runs != wantRuns {
			t.Fatalf("%s: %d runs, %d row blocks in the cache; want %d, %d", what, runs, entries, wantRuns, wantEntries)
		}
	}
	c.addPlain(100)
	expect("first read", 1, 0)
	expect("second read", 1, 1)
	c.addPlain(63)
	expect("few new rows", 2, 1)
	c.addPlain(1)
	expect("many new rows", 1, 1)
	c.addPlain(1)
	expect("one new row after them", 2, 1)
	late := varve.Reading{Series: cacheSeries, Time: time.Unix(15, 0), Arrived: time.UnixMilli(cacheBase), Fields: []varve.Field{{Name: "a", Value: varve.IntValue(0)}}}
	memtable.SetID(&late)
	c.add(&late, true)
	expect("a late row", 1, 1)
}

// TestCache_HoldsOneOfTwoHalves reads one half of a row block, and then the other. The cached columns of
// the first half must stay. If halves that are read in turn replaced each other, no read would find
// columns. A read of an overlapping range must replace the cached columns.
func TestCache_HoldsOneOfTwoHalves(t *testing.T) {
	c := &cacheMachine{limits: memtable.Caching{Bytes: 1 << 20, MinRows: 64}}
	c.replace(nil)
	c.addPlain(400)
	for range 2 {
		c.readRows(t, 200, 200)
	}
	c.readRows(t, 0, 200)
	if first := c.m.FirstCached(0); first != 200 {
		t.Fatalf("after a read of the other half, the cached rows begin at %d, want 200", first)
	}
	c.readRows(t, 100, 200)
	if first := c.m.FirstCached(0); first != 100 {
		t.Fatalf("after a read of an overlapping range, the cached rows begin at %d, want 100", first)
	}
}
