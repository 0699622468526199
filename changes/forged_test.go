package changes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/store"
)

// TestChanges_RefuseForgedCursors reads with cursors that no answer contained. A range of all markers
// of a stream must not be read into memory as a whole. No cursor may return readings that are not
// settled.
func TestChanges_RefuseForgedCursors(t *testing.T) {
	w := newWorld(t, nil)
	defer w.close()
	w.send(0, w.reading("a", w.clock))
	begin := w.clock
	minute := begin.Unix() / 60
	var markers []store.Item
	for i := range 40_000 {
		key := store.Key{PK: fmt.Sprintf("CHANGES#%s/%s#%02d", weather.Tenant, weather.Name, i%16), SK: fmt.Sprintf("%010d\x1fd%05d\x1f1\x1f1", minute+int64(i%10), i)}
		markers = append(markers, store.Item{Key: key})
	}
	if err := w.store.PutAll(t.Context(), markers); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour)
	read := func(c changes.Cursor) (n int, err error) {
		if c, err = changes.ParseCursor(c.Encode(weather, ""), weather, ""); err != nil {
			return 0, err
		}
		rows, err := w.engine.Changes.Open(context.Background(), changes.Query{Stream: weather, Since: c})
		for err == nil {
			var page []varve.Reading
			if page, err = rows.Next(context.Background()); len(page) == 0 {
				break
			}
			n += len(page)
		}
		return n, err
	}
	if n, err := read(changes.Cursor{Since: begin, Until: begin.Add(30 * time.Minute)}); varve.FailureOf(err) != varve.Invalid {
		t.Errorf("a range of many markers: %d readings, %v", n, err)
	}
	far := time.UnixMilli(1 << 62)
	for _, c := range []changes.Cursor{
		{Since: far}, {Since: begin.Add(time.Minute), Until: begin}, {Since: begin, Until: far}, {Since: far, Until: begin, Device: "\xff", Part: true},
	} {
		if n, err := read(c); n > 1 {
			t.Errorf("cursor %+v: %d readings, %v", c, n, err)
		}
	}
}

// TestChanges_ContinueInFilledMinute continues in a range of two minutes after many further devices sent in the
// second minute. The cursor must stay valid, and all readings must be returned.
func TestChanges_ContinueInFilledMinute(t *testing.T) {
	w := newWorld(t, nil)
	defer w.close()
	w.send(0, w.reading("a", w.clock), w.reading("b", w.clock), w.reading("z", w.clock))
	w.pass(65 * time.Second)
	w.send(0, w.reading("c", w.clock), w.reading("z", w.clock))
	w.pass(time.Second)
	c := &consumer{got: map[string]time.Time{}}
	if w.poll(c, 1); len(c.got) != 1 || c.cursor.Until.Before(start.Add(time.Minute)) {
		t.Fatalf("%d readings, cursor %+v; want one reading, and a range of two minutes", len(c.got), c.cursor)
	}
	markers := make([]store.Item, 34_000)
	for i := range markers { // each device has markers of 16 event hours
		markers[i].PK = fmt.Sprintf("CHANGES#%s/%s#%02d", weather.Tenant, weather.Name, i/16%16)
		markers[i].SK = fmt.Sprintf("%010d\x1fd%05d\x1f%d\x1f1", w.clock.Unix()/60, i/16, i%16)
	}
	if err := w.store.PutAll(t.Context(), markers); err != nil {
		t.Fatal(err)
	}
	w.send(0, w.reading("a", w.clock), w.reading("z", w.clock))
	w.pass(time.Minute)
	if w.check(c); len(c.got) != len(w.made) {
		t.Errorf("%d readings, want %d", len(c.got), len(w.made))
	}
}

// TestChanges_BoundPagesByBytes reads large readings of one device and of many devices. No page may
// exceed a MiB by more than one reading.
func TestChanges_BoundPagesByBytes(t *testing.T) {
	w := newWorld(t, nil)
	defer w.close()
	const n, size = 60, 60_000
	var list []varve.Reading
	for i := range n {
		r := w.reading(fmt.Sprintf("d%d", max(0, i-n/2)), w.clock.Add(-time.Duration(i)*time.Second))
		r.Fields = []varve.Field{{Name: "t", Value: varve.StringValue(strings.Repeat("x", size))}}
		list = append(list, r)
	}
	w.send(0, list...)
	w.pass(time.Second)
	rows, err := w.engine.Changes.Open(t.Context(), changes.Query{Stream: weather})
	total := 0
	for err == nil {
		var page []varve.Reading
		if page, err = rows.Next(t.Context()); len(page) == 0 {
			break
		}
		if total += len(page); len(page)*size > 1<<20+size {
			t.Errorf("a page of %d large readings", len(page))
		}
	}
	if total != n || err != nil {
		t.Errorf("%d readings, want %d, %v", total, n, err)
	}
}
