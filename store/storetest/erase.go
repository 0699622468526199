package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// erase erases the readings of a device that are in a window and arrived at or before a given time.
func (e *env) erase(t *testing.T, tb grid.Table, dev string, w varve.Window, until time.Time, l store.Layout) int64 {
	t.Helper()
	n, err := e.Erase(t.Context(), store.Erasure{Table: tb, Series: device(dev), Window: w, Arrived: until, Layout: l})
	if err != nil {
		t.Fatalf("erase %s in %s: %v", dev, tb, err)
	}
	return n
}

func hours(from, to int) varve.Window {
	return varve.Window{From: start.Add(time.Duration(from) * time.Hour), To: start.Add(time.Duration(to) * time.Hour)}
}

// testErase erases a part of one series. All readings outside of that part must stay.
func testErase(t *testing.T, e *env) {
	other := tableAt(start, start.AddDate(0, 1, 0))
	e.create(t, weekTable(), other)
	at := func(m int) time.Time { return start.Add(time.Duration(m) * time.Minute) }
	list := []varve.Reading{
		reading("a", at(59), "1"), reading("a", at(60), "2"), reading("a", at(61), "3"), arrived(reading("a", at(90), "4"), start.Add(time.Hour)),
		reading("a", at(119), "5"), reading("a", at(120), "6"),
	}
	neighbor, late := reading("ab", at(60), "7"), arrived(reading("a", at(60), "2"), start.AddDate(0, 1, 0))
	e.write(t, weekTable(), append(list, neighbor)...)
	e.write(t, other, late)
	if n := e.erase(t, weekTable(), "a", hours(1, 2), start, store.Layout{}); n != 3 {
		t.Errorf("%d readings were erased, want 3", n)
	}
	if n := e.erase(t, weekTable(), "a", hours(1, 2), start, store.Layout{}); n != 0 {
		t.Errorf("%d readings were erased once more", n)
	}
	e.expect(t, weekTable(), "a", list[0], list[3], list[5])
	e.expect(t, weekTable(), "ab", neighbor)
	e.expect(t, other, "a", late)
	if got := e.write(t, weekTable(), list[0], list[1], list[3], neighbor); got != "dsdd" {
		t.Errorf("resent readings: %q, want dsdd", got)
	}
	e.expect(t, weekTable(), "a", list[0], list[1], list[3], list[5])
	if n := e.erase(t, weekTable(), "a", varve.AllTime(), start.Add(time.Hour), store.Layout{}); n != 4 {
		t.Errorf("%d readings were erased, want 4", n)
	}
	e.expect(t, weekTable(), "a")
	if _, found, _, err := e.Latest(t.Context(), store.Latest{Table: weekTable(), Series: device("a"), By: varve.ByEvent, Consistent: true}); found || err != nil {
		t.Errorf("the latest reading exists: %t, %v", found, err)
	}
	if all, err := seriesOf(t.Context(), e.Store, weekTable()); err != nil || all[device("a")] {
		t.Errorf("series %v, %v", all, err)
	}
	if n := e.erase(t, weekTable(), "nobody", varve.AllTime(), start, store.Layout{}); n != 0 {
		t.Errorf("%d readings of a device without readings were erased", n)
	}
	checkEraseArrivedAfter(t, e)
}

// checkEraseArrivedAfter erases the readings that arrived after x.After, and not after x.Arrived. A
// reading that arrived at x.After must stay.
func checkEraseArrivedAfter(t *testing.T, e *env) {
	t.Helper()
	at := func(m int) time.Time { return start.Add(time.Duration(m) * time.Minute) }
	before, equal := arrived(reading("later", at(60), "1"), at(1)), arrived(reading("later", at(60), "2"), at(2))
	after, last := arrived(reading("later", at(60), "3"), at(2).Add(time.Millisecond)), arrived(reading("later", at(61), "4"), at(3))
	e.write(t, weekTable(), before, equal, after, last)
	x := store.Erasure{Table: weekTable(), Series: device("later"), Window: varve.AllTime(), After: at(2), Arrived: at(2).Add(time.Millisecond)}
	if n, err := e.Erase(t.Context(), x); n != 1 || err != nil {
		t.Errorf("%d readings were erased, want 1: %v", n, err)
	}
	e.expect(t, weekTable(), "later", sorted([]varve.Reading{before, equal, last})...)
	x.Arrived = at(3)
	if n, err := e.Erase(t.Context(), x); n != 1 || err != nil {
		t.Errorf("%d readings were erased, want 1: %v", n, err)
	}
	e.expect(t, weekTable(), "later", sorted([]varve.Reading{before, equal})...)
}

// testEraseRefused checks that Erase fails if the table is on hold or missing, but not if it is
// retired.
func testEraseRefused(t *testing.T, e *env) {
	e.create(t, weekTable())
	r := reading("a", start, "1")
	e.write(t, weekTable(), r)
	must(t, e.Hold(t.Context(), weekTable(), "audit"))
	x := store.Erasure{Table: weekTable(), Series: device("a"), Window: varve.AllTime(), Arrived: start}
	var held *store.HoldError
	if n, err := e.Erase(t.Context(), x); n != 0 || !errors.As(err, &held) || held.Reason != "audit" {
		t.Errorf("%d readings of a table on hold were erased: %v", n, err)
	}
	e.expect(t, weekTable(), "a", r)
	must(t, e.Hold(t.Context(), weekTable(), ""))
	must(t, e.Retire(t.Context(), weekTable(), start))
	if n := e.erase(t, weekTable(), "a", varve.AllTime(), start, store.Layout{}); n != 1 {
		t.Errorf("%d readings of a retired table were erased, want 1", n)
	}
	must(t, e.Restore(t.Context(), weekTable()))
	e.expect(t, weekTable(), "a")
	x.Table = tableAt(start.AddDate(-1, 0, 0), start)
	if _, err := e.Erase(t.Context(), x); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("erase from a missing table: %v, want ErrNoTable", err)
	}
}

// testEraseInLayouts erases a part of the readings of one hour, which fill several rows. The other
// readings must stay, and must be duplicates when they are resent.
func testEraseInLayouts(t *testing.T, e *env) {
	for _, l := range []store.Layout{{}, {RowWindow: time.Hour}, {RowWindow: time.Minute, Shards: 3}} {
		t.Run(fmt.Sprint(l.RowWindow, l.Shards), func(t *testing.T) {
			dev := fmt.Sprint("d", l.RowWindow, l.Shards)
			e.create(t, weekTable())
			var list, rest []varve.Reading
			for i := range 200 {
				r := named(reading(dev, start.Add(time.Duration(i%4)*time.Minute), fmt.Sprint(i)), fmt.Sprintf("id-%04d", i))
				if i%3 == 0 {
					r.Arrived = start.Add(time.Second)
					rest = append(rest, r)
				}
				list = append(list, r)
			}
			b := store.Batch{Table: weekTable(), Readings: list, Layout: func(varve.Series) store.Layout { return l }}
			for from := 0; from < len(list); from += 20 { // several writes, so that some rows are full and closed
				b.Readings = list[from : from+20]
				if got := letters(e.Write(t.Context(), []store.Batch{b})[0].Verdicts); got != "ssssssssssssssssssss" {
					t.Fatalf("verdicts %q", got)
				}
			}
			if n := e.erase(t, weekTable(), dev, hours(0, 1), start, l); n != int64(len(list)-len(rest)) {
				t.Errorf("%d readings were erased, want %d", n, len(list)-len(rest))
			}
			r := store.Range{Table: weekTable(), Series: device(dev), Window: varve.AllTime(), Layout: l}
			got, err := e.all(t.Context(), r)
			must(t, err)
			same(t, got, sorted(rest))
			b.Readings = list
			want := ""
			for i := range list {
				want += string("dss"[i%3])
			}
			if got := letters(e.Write(t.Context(), []store.Batch{b})[0].Verdicts); got != want {
				t.Errorf("resent readings:\n got %s\nwant %s", got, want)
			}
			if n := e.erase(t, weekTable(), dev, varve.AllTime(), start.Add(time.Second), l); n != int64(len(list)) {
				t.Errorf("%d readings were erased, want %d", n, len(list))
			}
			got, err = e.all(t.Context(), r)
			must(t, err)
			same(t, got, nil)
		})
	}
}

// erase erases readings of a random device, window and arrival from the model and the subject.
func (m *machine) erase(t *rapid.T) {
	x := store.Erasure{
		Table: m.table(t), Series: device(rapid.SampledFrom(modelDevices).Draw(t, "device")), Window: varve.AllTime(), Layout: m.layout,
	}
	x.Arrived = m.genReading(t, x.Table).Arrived
	if rapid.IntRange(0, 3).Draw(t, "after") == 0 {
		x.After = m.genReading(t, x.Table).Arrived
	}
	if rapid.Bool().Draw(t, "window") {
		x.Window.From = m.genReading(t, x.Table).Time.Truncate(time.Hour)
		x.Window.To = x.Window.From.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "hours")) * time.Hour)
	}
	want, wantErr := m.model.Erase(context.Background(), x)
	got, gotErr := m.subject.Erase(context.Background(), x)
	if got != want || !sameError(gotErr, wantErr) {
		t.Fatalf("erase %+v: %d, %v; want %d, %v", x, got, gotErr, want, wantErr)
	}
}

func sorted(list []varve.Reading) []varve.Reading {
	return slices.SortedFunc(slices.Values(list), func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
}
