package rollup_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

// pageWindow returns a window of whole days around the clock that is short enough for cached pages.
func (w *world) pageWindow() varve.Window {
	from := w.clock.Add(-200 * 24 * time.Hour).Truncate(24 * time.Hour)
	return varve.Window{From: from, To: from.Add(260 * 24 * time.Hour)}
}

// readPages reads the roll-ups in a window with w.holding, a reader that caches pages.
func (w *world) readPages(device string, p rollup.Period, in varve.Window) (all []rollup.Rollup) {
	if w.holding == nil {
		w.holding = rollup.NewReader(w.store, w.source(w.now), w.resent)
	}
	q := rollup.Query{Series: varve.Series{Tenant: "acme", Stream: "weather", Device: device}, Period: p, Window: in}
	for {
		page, err := w.holding.Read(context.Background(), q)
		if err != nil {
			w.t.Fatalf("%v", err)
		}
		if all = append(all, page.Rollups...); page.Next.IsZero() {
			return all
		}
		q.Window.From = page.Next
	}
}

// checkPages compares the roll-ups of two reads that may be cached with a list of all roll-ups.
func (w *world) checkPages(what, device string, p rollup.Period, list []rollup.Rollup) {
	w.t.Helper()
	in := w.pageWindow()
	text := func(list []rollup.Rollup) string {
		var lines []string
		for i := range list {
			if in.Contains(list[i].Start) {
				lines = append(lines, show(list[i].Start, &list[i].Partial))
			}
		}
		return strings.Join(lines, "\n")
	}
	want := text(list)
	for i := range 2 {
		if got := text(w.readPages(device, p, in)); got != want {
			w.t.Fatalf("%s: %s of %s, read %d: cached\n%s\nwant\n%s", what, p, device, i, got, want)
		}
	}
}

// TestReader_CachesRecountedPages checks that the second read of dirty hours needs no items, and that a
// new reading is in the next result.
func TestReader_CachesRecountedPages(t *testing.T) {
	w := newWorld(t)
	w.send(0, nil, w.reading("a", w.clock.Add(-30*time.Minute)))
	in := w.pageWindow()
	before := w.readPages("a", rollup.Hourly, in)
	w.store.down = true
	if again := w.readPages("a", rollup.Hourly, in); len(again) != 1 || show(again[0].Start, &again[0].Partial) != show(before[0].Start, &before[0].Partial) {
		t.Errorf("read %v, want %v", again, before)
	}
	w.store.down = false
	w.send(0, nil, w.reading("a", w.clock.Add(-29*time.Minute)), w.reading("a", w.clock.Add(-2*time.Hour)))
	if after := w.readPages("a", rollup.Hourly, in); len(after) != 2 || after[1].Readings != 2 {
		t.Errorf("read %v after a write, want 2 hours", after)
	}
}

// TestReader_CachesPagesOfEachFieldList checks that two lists of fields have two pages, even if a name
// contains a zero byte.
func TestReader_CachesPagesOfEachFieldList(t *testing.T) {
	w := newWorld(t)
	w.send(0, nil, w.reading("a", w.clock.Add(-30*time.Minute)))
	r := rollup.NewReader(w.store, w.source(w.now), w.resent)
	fields := func(names ...string) int {
		page, err := r.Read(t.Context(), rollup.Query{
			Series: varve.Series{Tenant: "acme", Stream: "weather", Device: "a"}, Period: rollup.Hourly, Window: w.pageWindow(), Fields: names,
		})
		if err != nil || len(page.Rollups) != 1 {
			t.Fatalf("%v, %v", page.Rollups, err)
		}
		return len(page.Rollups[0].Fields)
	}
	if none, one := fields("v\x00x"), fields("v", "x"); none != 0 || one != 1 {
		t.Errorf("%d and %d fields, want 0 and 1", none, one)
	}
}
