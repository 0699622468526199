package storetest

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

func testVerdicts(t *testing.T, e *env) {
	e.create(t, weekTable())
	a, b := reading("a", start, "1"), reading("a", start.Add(time.Second), "2")
	if got := e.write(t, weekTable(), a, b, a); got != "ssd" {
		t.Fatalf("first write: %s, want ssd", got)
	}
	// The later retry also contains a new reading.
	c := reading("a", start.Add(time.Minute), "3")
	retry := []varve.Reading{arrived(b, start.Add(time.Hour)), c, arrived(a, start.Add(time.Hour))}
	if got := e.write(t, weekTable(), retry...); got != "dsd" {
		t.Fatalf("retry: %s, want dsd", got)
	}
	// The arrivals of the stored readings do not change.
	e.expect(t, weekTable(), "a", a, b, c)
	if got := e.write(t, weekTable()); got != "" {
		t.Fatalf("empty batch: %q", got)
	}
}

func testSameTimestamp(t *testing.T, e *env) {
	e.create(t, weekTable())
	x, y := reading("a", start, "22.4"), reading("a", start, "22.6")
	z := named(reading("a", start, "22.4"), "client-1")
	if got := e.write(t, weekTable(), x, y, z); got != "sss" {
		t.Fatalf("got %s, want sss", got)
	}
	if got := e.write(t, weekTable(), z, y); got != "dd" {
		t.Fatalf("retry: %s, want dd", got)
	}
	want := []varve.Reading{x, y, z}
	sortReadings(want)
	e.expect(t, weekTable(), "a", want...)
}

// testContentIDs checks that a reading with the zero id is stored with its content id.
func testContentIDs(t *testing.T, e *env) {
	e.create(t, weekTable())
	x, y := reading("a", start, "22.4"), reading("a", start, "22.6")
	sent := []varve.Reading{x, y, x, named(x, "client-1")}
	for i := range sent[:3] {
		sent[i].ID = varve.ID{}
	}
	if got := e.write(t, weekTable(), sent...); got != "ssds" {
		t.Fatalf("got %s, want ssds", got)
	}
	for i, want := range []varve.ID{x.ContentID(), y.ContentID(), x.ContentID()} {
		if got := sent[i].ID; !got.IsZero() && got != want {
			t.Errorf("Write replaced a zero id by %s, want %s", got, want)
		}
	}
	if got := e.write(t, weekTable(), x, y); got != "dd" {
		t.Fatalf("with their content ids: %s, want dd", got)
	}
	want := []varve.Reading{x, y, sent[3]}
	sortReadings(want)
	e.expect(t, weekTable(), "a", want...)
}

func testManyTables(t *testing.T, e *env) {
	var batches []store.Batch
	for week := range 5 {
		r := reading("a", start.AddDate(0, 0, -7*week), fmt.Sprint(week))
		tb := tableAt(r.Time, r.Arrived)
		e.create(t, tb)
		batches = append(batches, store.Batch{Table: tb, Readings: []varve.Reading{r, r}})
	}
	for i, res := range e.Write(t.Context(), batches) {
		if res.Err != nil || letters(res.Verdicts) != "sd" {
			t.Fatalf("batch %d: %+v", i, res)
		}
		e.expect(t, batches[i].Table, "a", batches[i].Readings[0])
	}
	// Readings of the same week that arrive in two months are stored in two independent tables.
	late := arrived(reading("a", start, "0"), start.AddDate(0, 1, 0))
	tb := tableAt(late.Time, late.Arrived)
	e.create(t, tb)
	if got := e.write(t, tb, late); got != "s" {
		t.Fatalf("next month: %s, want s", got)
	}
}

func testNoTable(t *testing.T, e *env) {
	e.create(t, weekTable())
	r := reading("a", start, "1")
	old := reading("a", start.AddDate(-1, 0, 0), "1")
	res := e.Write(t.Context(), []store.Batch{
		{Table: tableAt(old.Time, start), Readings: []varve.Reading{old}},
		{Table: weekTable(), Readings: []varve.Reading{r}},
	})
	if !errors.Is(res[0].Err, store.ErrNoTable) {
		t.Errorf("missing table: %v, want ErrNoTable", res[0].Err)
	}
	if res[1].Err != nil || letters(res[1].Verdicts) != "s" {
		t.Errorf("the other table: %+v", res[1])
	}
	e.expect(t, weekTable(), "a", r)
}

func testCallersBuffers(t *testing.T, e *env) {
	e.create(t, weekTable())
	r := reading("a", start, "1")
	want := r.Clone()
	e.write(t, weekTable(), r)
	r.Fields[0] = varve.Field{Name: "scribbled", Value: number("9")}
	e.expect(t, weekTable(), "a", want)
	// The store must not share memory with the caller.
	rng := store.Range{Table: weekTable(), Series: device("a"), Window: varve.AllTime()}
	got, err := e.all(t.Context(), rng)
	if err != nil {
		t.Fatal(err)
	}
	got[0].Fields[0] = r.Fields[0]
	e.expect(t, weekTable(), "a", want)
}

// testConcurrentRetries checks that if many writers send the same readings, exactly one writer
// gets Stored for each reading.
func testConcurrentRetries(t *testing.T, e *env) {
	e.create(t, weekTable())
	var batch []varve.Reading
	for i := range 200 {
		batch = append(batch, reading(fmt.Sprint("d", i%7), start.Add(time.Duration(i)*time.Second), fmt.Sprint(i)))
	}
	const writers = 8
	tally := map[varve.Outcome]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for from := 0; from < len(batch); from += 25 {
				res := e.Write(t.Context(), []store.Batch{{Table: weekTable(), Readings: batch[from : from+25]}})
				mu.Lock()
				for _, v := range res[0].Verdicts {
					tally[v.Outcome]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	want := map[varve.Outcome]int{varve.Stored: len(batch), varve.Duplicate: len(batch) * (writers - 1)}
	if !maps.Equal(tally, want) {
		t.Fatalf("got %v, want %v", tally, want)
	}
	infos := e.tables(t)
	if len(infos) != 1 || !e.countsLag && infos[0].Readings != int64(len(batch)) {
		t.Fatalf("tables: %+v", infos)
	}
}

func testManyAtOneInstant(t *testing.T, e *env) {
	e.create(t, weekTable())
	const n = 2500
	var want []varve.Reading
	for i := range n {
		want = append(want, reading("a", start, fmt.Sprint(i)))
	}
	for from := 0; from < n; from += 500 {
		e.write(t, weekTable(), want[from:from+500]...)
	}
	if got := e.write(t, weekTable(), want[7], want[n-1]); got != "dd" {
		t.Fatalf("retry: %s, want dd", got)
	}
	sortReadings(want)
	e.expect(t, weekTable(), "a", want...)
}

func (e *env) tables(t *testing.T) []store.Info {
	t.Helper()
	infos, err := e.Tables(t.Context(), store.Filter{
		Prefixes: []string{"t"}, Window: varve.AllTime(), Details: true, Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	return infos
}

func (e *env) info(t *testing.T, tb grid.Table) store.Info {
	t.Helper()
	for _, in := range e.tables(t) {
		if in.Table == tb {
			return in
		}
	}
	t.Fatalf("%s is not listed", tb)
	return store.Info{}
}
