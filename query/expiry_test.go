package query_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
)

// TestCoverage_ReportsExpiredReadings stores readings that arrived a day ago and now. It reads them 6½
// days later, under a retention of 7 days. The five readings of a day ago have expired, but their table
// has live readings, too. The coverage must have the expired part of the window, and the number of
// readings in it.
func TestCoverage_ReportsExpiredReadings(t *testing.T) {
	for _, pages := range []int{0, 3} {
		w := newWorld(t, 7*day, 400*day, 1)
		w.store.pages = pages
		for i := range 5 {
			old := start.Add(-day).Add(time.Duration(i) * time.Minute)
			w.put(t, retention.DefaultClass, reading("a", old, old, "", 1))
			w.put(t, retention.DefaultClass, reading("a", start.Add(time.Duration(i)*time.Minute), start, "", 2))
		}
		late := start.Add(-10 * day)
		w.put(t, retention.DefaultClass, reading("a", late, start, "", 3)) // lives as long as the other readings that arrived at start
		w.clock = start.Add(13 * day / 2)
		cutoff := w.clock.Add(-7 * day)
		read := func(window varve.Window) (n int, cover query.Coverage) {
			t.Helper()
			rows, err := w.engine.Open(context.Background(), query.Query{Series: device("a"), Window: window})
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			all, err := drain(context.Background(), rows)
			if err != nil {
				t.Fatal(err)
			}
			return len(all), rows.Coverage()
		}
		n, cover := read(varve.AllTime())
		want := query.Expiry{From: varve.AllTime().From, To: cutoff, Retention: "1w", Rule: "class default keeps readings for 1w", Readings: 5}
		if n != 6 || cover.Expiry == nil || *cover.Expiry != want {
			t.Errorf("pages of %d: %d readings and expiry %+v, want 6 and %+v", pages, n, cover.Expiry, want)
		}
		if n, cover = read(varve.Window{From: start.Add(-day), To: start}); n != 0 || cover.Expiry == nil || cover.Expiry.Readings != 5 || !cover.Expiry.To.Equal(cutoff) {
			t.Errorf("pages of %d, the expired day: %d readings and expiry %+v, want 5 expired ones", pages, n, cover.Expiry)
		}
		if n, cover = read(varve.Window{From: cutoff, To: varve.AllTime().To}); n != 5 || cover.Expiry != nil {
			t.Errorf("pages of %d, the live part: %d readings and expiry %+v, want 5 and none", pages, n, cover.Expiry)
		}
		x, err := w.engine.Explain(context.Background(), query.Query{Series: device("a"), Window: varve.Window{From: start.Add(-day), To: start}})
		if err != nil || x.Expiry == nil || !strings.Contains(x.Tables[0].Why, "arrived before "+cutoff.Format(time.RFC3339)+" have expired") {
			t.Errorf("explanation %+v, %v; want the expired part", x, err)
		}
	}
}

// TestCoverage_CountsExpiredTables queries 400 days after the last arrival. No table was dropped. The
// coverage must count the expired tables, and name the rule. A class that keeps readings forever must
// have no expiry.
func TestCoverage_CountsExpiredTables(t *testing.T) {
	w := newWorld(t, 7*day, 8*day, 1)
	w.policy.Streams = map[string]retention.Stream{"weather": {Retention: time.Hour}}
	w.put(t, retention.DefaultClass, reading("a", start, start, "", 1))
	w.put(t, "old", reading("a", start, start, "", 1))
	w.clock = start.Add(400 * day)
	a, err := w.engine.Latest(context.Background(), query.LatestQuery{Series: device("a")})
	if err != nil || a.Found || a.Coverage.Expiry == nil || a.Coverage.Expiry.Tables != 2 || a.Coverage.Expiry.Rule != "stream weather keeps readings for 1h" {
		t.Errorf("latest: %v, %+v; want two expired tables by the stream's rule", err, a.Coverage.Expiry)
	}
	w = newWorld(t, retention.Forever, 8*day, 1)
	w.clock = start.Add(400 * day)
	if a, err = w.engine.Latest(context.Background(), query.LatestQuery{Series: device("a")}); err != nil || a.Coverage.Expiry != nil {
		t.Errorf("a class without end: %v, expiry %+v, want none", err, a.Coverage.Expiry)
	}
}

// TestCoverage_UsesLongestClass reads a stream with live readings in tables of an earlier class, which
// keeps them longer. Only the part that has expired in both classes may be reported.
func TestCoverage_UsesLongestClass(t *testing.T) {
	w := newWorld(t, 7*day, 100*day, 1)
	w.put(t, "old", reading("a", start, start, "", 1))
	w.clock = start.Add(30 * day)
	w.put(t, retention.DefaultClass, reading("a", w.clock, w.clock, "", 2))
	rows, err := w.engine.Open(context.Background(), query.Query{Series: device("a"), Window: varve.Window{From: start.Add(-365 * day), To: varve.AllTime().To}})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all, err := drain(context.Background(), rows)
	x := rows.Coverage().Expiry
	if err != nil || len(all) != 2 || x == nil || !x.To.Equal(w.clock.Add(-100*day)) || x.Rule != "class old keeps readings for 100d" {
		t.Errorf("%d readings, %v, expiry %+v; want both readings, and the retention of class old", len(all), err, x)
	}
}

// TestExpiry_Merge merges the expiries of two devices. The merged part must end where the readings
// of both devices have expired.
func TestExpiry_Merge(t *testing.T) {
	short := &query.Expiry{To: start.Add(-time.Hour), Retention: "1h", Tables: 1, Readings: 3}
	long := &query.Expiry{To: start.Add(-day), Retention: "1d", Tables: 2, Readings: 4}
	want := query.Expiry{To: start.Add(-day), Retention: "1d", Tables: 2, Readings: 7}
	if a, b := short.Merge(long), long.Merge(short); *a != want || *b != want {
		t.Errorf("merged to %+v and %+v, want %+v", a, b, want)
	}
	if a, b := short.Merge(nil), (*query.Expiry)(nil).Merge(short); a != short || b != short {
		t.Errorf("merged with nothing to %+v and %+v", a, b)
	}
}

// TestTrace_FindsEveryCopy stores copies of a reading in two arrival months and classes, and another
// reading a millisecond later. The trace must have both copies with their tables, alive or not.
func TestTrace_FindsEveryCopy(t *testing.T) {
	w := newWorld(t, 7*day, 100*day, 1)
	first := reading("a", start, start, "m1", 1)
	ours := w.put(t, retention.DefaultClass, first)
	theirs := w.put(t, "old", reading("a", start, start.AddDate(0, 1, 0), "m1", 1))
	w.put(t, retention.DefaultClass, reading("a", start.Add(time.Millisecond), start, "m2", 1))
	w.clock = start.AddDate(0, 1, 0)
	got, err := w.engine.Trace(context.Background(), device("a"), varve.Window{From: start, To: start.Add(1)})
	if err != nil || len(got.Copies) != 2 || len(got.Tables) != 2 {
		t.Fatalf("trace %+v, %v; want two copies in two tables", got, err)
	}
	for _, c := range got.Copies {
		switch c.Table {
		case ours:
			if c.Alive || !c.Expires.Equal(start.Add(7*day)) || c.Rule != "class default keeps readings for 1w" {
				t.Errorf("the first copy: %+v, want it expired after a week", c)
			}
		case theirs:
			if !c.Alive || !c.Expires.Equal(w.clock.Add(100*day)) || c.Rule != "class old keeps readings for 100d" {
				t.Errorf("the second copy: %+v, want it alive for 100 days", c)
			}
		default:
			t.Errorf("a copy in %s", c.Table)
		}
	}
	none, err := w.engine.Trace(context.Background(), device("b"), varve.Window{From: start, To: start.Add(1)})
	if err != nil || len(none.Copies) != 0 || none.Class != retention.DefaultClass || none.Keep != 7*day || len(none.Tables) != 2 {
		t.Errorf("another device: %+v, %v; want no copy and the same tables", none, err)
	}
}
