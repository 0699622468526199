package query_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/query"
)

// TestWhere_AgreesWithOracle reads the pages of a query with a filter, at any limit and scan limit.
// They must have exactly the matching readings of the query without the filter. No page may exceed
// the limit.
func TestWhere_AgreesWithOracle(t *testing.T) {
	check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := drawQuery(t, w)
		limit := q.Limit
		q.Limit = 0
		fields := q.Fields
		q.Fields = nil
		all, _ := w.answer(q)
		var err error
		text := rapid.SampledFrom([]string{"value>=1", "value=2 and unit=C", "value!=0", "absent=1", "unit!=F", "unit=F"}).Draw(t, "where")
		if q.Where, err = filter.Parse(text); err != nil {
			t.Fatalf("%v", err)
		}
		want := slices.DeleteFunc(all, func(r varve.Reading) bool { return !q.Where.Matches(&r) })
		for i := range want {
			if len(fields) > 0 {
				want[i].Fields = slices.DeleteFunc(want[i].Fields, func(f varve.Field) bool { return !slices.Contains(fields, f.Name) })
			}
		}
		q.Limit, q.Fields, q.ScanLimit = limit, fields, rapid.SampledFrom([]int{0, 1, 3, 1000}).Draw(t, "scan")
		var got []varve.Reading
		for {
			page, rows := w.ask(t, q)
			if q.Limit > 0 && len(page) > q.Limit {
				t.Fatalf("a page has %d readings, the limit is %d", len(page), q.Limit)
			}
			for i := range page {
				got = append(got, page[i].Clone())
			}
			at, more := rows.More()
			if !more {
				break
			}
			if q.After != nil && *q.After == at {
				t.Fatalf("the page after %v continues at the same position", at)
			}
			q.After = &at
		}
		same(t, got, want)
	})
}

// TestWhere_ReportsUnseenFields filters by a field that no reading has. The profile must name the
// field, unless the query compared no reading.
func TestWhere_ReportsUnseenFields(t *testing.T) {
	w := newWorld(t, 100*day, 100*day, 1)
	w.put(t, "default", reading("a", start.Add(-day), start, "", 1))
	where, err := filter.Parse("value>0 and valeu>0")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		window varve.Window
		want   int
	}{{varve.AllTime(), 1}, {varve.Window{From: start, To: start.Add(day)}, 0}} {
		q := query.Query{Series: device("a"), Window: tt.window, Where: where}
		got, rows := w.ask(t, q)
		if unseen := rows.Profile().UnseenFields(); len(got) != 0 || len(unseen) != tt.want || tt.want > 0 && unseen[0] != "valeu" {
			t.Errorf("%v: %d readings, unseen %v", tt.window, len(got), unseen)
		}
	}
}
