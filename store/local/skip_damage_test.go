package local_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestRead_SkipsLostRange destroys a chunk in the middle of a series. With Damaged, reads in both
// orders must return all other readings, and name the table, the series and the event times of the
// missing ones. Latest must skip the missing readings, too. Without Damaged, reads must fail.
func TestRead_SkipsLostRange(t *testing.T) {
	const n = 30000
	dir := filled(t, 1, n)
	s := open(t, local.Options{Dir: dir, MinFree: -1})
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil { // merges the chunks into level 1
		t.Fatal(err)
	}
	path := ssts(t, dir)[0]
	flip(t, path, sizeOf(t, path)/2)
	s = open(t, local.Options{Dir: dir, MinFree: -1})
	_, _ = readAll(t, s, week(t, 0), device(0)) // a read finds the damage
	eventually(t, "the chunk is set aside", func() bool { return len(s.Losses()) > 0 })
	if _, err := readAll(t, s, week(t, 0), device(0)); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a read without Damaged: %v, want damage", err)
	}
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		got, rows := readSkipping(t, s, order)
		if len(got) == 0 || len(got) >= n || len(rows) != 1 {
			t.Fatalf("%v: %d of %d readings, damage %+v; want some readings and one place", order, len(got), n, rows)
		}
		for row := range rows {
			if row.Table != week(t, 0).Name() || row.Series != "default/s/"+device(0) || !strings.Contains(row.Problem, "varve verify") || strings.Contains(row.Problem, ".sst") {
				t.Errorf("%v: damage %+v", order, row)
			}
			checkMissing(t, got, n, row.TS)
		}
	}
	for _, by := range []varve.By{varve.ByEvent, varve.ByArrival} {
		l := store.Latest{Table: week(t, 0), Series: series(device(0)), By: by}
		skipped := 0
		l.Damaged = func(*store.DamagedRow) { skipped++ }
		if r, found, _, err := s.Latest(t.Context(), l); err != nil || !found || by == varve.ByArrival && skipped == 0 {
			t.Errorf("latest by %v: %s, %v, %v, %d places", by, &r, found, err, skipped)
		}
	}
}

func series(device string) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: device}
}

// readSkipping reads all pages of the first device, and returns the readings by event time and the damage.
func readSkipping(t *testing.T, s *local.Store, order varve.Order) (got map[time.Time]bool, rows map[store.DamagedRow]bool) {
	t.Helper()
	got, rows = map[time.Time]bool{}, map[store.DamagedRow]bool{}
	r := store.Range{
		Table: week(t, 0), Window: week(t, 0).Window(), Order: order, Consistent: true, Series: series(device(0)),
		Damaged: func(row *store.DamagedRow) { rows[*row] = true },
	}
	for {
		page, err := readBoth(t.Context(), s, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Readings {
			got[page.Readings[i].Time] = true
		}
		if !page.More {
			return got, rows
		}
		at := page.Readings[len(page.Readings)-1].Position()
		r.After = &at
	}
}

// checkMissing checks that a range of event times includes all missing readings, and is shorter than the
// series.
func checkMissing(t *testing.T, got map[time.Time]bool, n int, text string) {
	t.Helper()
	a, b, _ := strings.Cut(text, "/")
	from, err1 := time.Parse(time.RFC3339Nano, a)
	to, err2 := time.Parse(time.RFC3339Nano, b)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatalf("range %q: %v", text, err)
	}
	for i := range n {
		at := week(t, 0).Window().From.Add(time.Duration(i) * time.Second)
		if isIn := !at.Before(from) && at.Before(to); !got[at] && !isIn {
			t.Fatalf("%s is missing, and not in %s", at, text)
		}
	}
	if span := to.Sub(from); span <= 0 || span >= time.Duration(n)*time.Second {
		t.Errorf("the range %s is as long as the series", text)
	}
}
