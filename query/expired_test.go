package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/filter"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
)

// expiredWorld returns a world with live readings among expired ones, in tables of several ranges
// and of two classes. Every fourth reading has copies in tables of both classes.
func expiredWorld(t *testing.T, pages int) *world {
	w := newWorld(t, 7*day, 8*day, 2)
	w.store.pages = pages
	for i := range 60 {
		at := start.Add(time.Duration(i) * 8 * time.Hour)
		arrived := start.Add(21 * day) // arrives in December
		if i%5 == 1 || i > 40 && i < 44 {
			arrived = start.Add(31 * day) // this copy has not expired
		}
		w.put(t, []string{retention.DefaultClass, "old"}[i/30], reading("a", at, arrived, "", int64(i)))
		if i%4 == 0 {
			w.put(t, []string{"old", retention.DefaultClass}[i/30], reading("a", at, start.Add(22*day), "", int64(i)))
		}
	}
	w.clock = start.Add(34 * day)
	return w
}

// TestCoverage_CountsExpiredReadingsOnce reads an answer page by page. Each expired reading must
// count in exactly one page, also if it follows the last reading of a page.
func TestCoverage_CountsExpiredReadingsOnce(t *testing.T) {
	matching, err := filter.Parse("value>11")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 3, 20} {
		w := expiredWorld(t, size)
		for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
			for _, where := range []filter.Filter{nil, matching} {
				q := query.Query{Series: device("a"), Window: varve.AllTime(), Order: order, Where: where, ScanLimit: 100}
				_, whole := w.pagesOf(t, q, false)
				if want := len(w.all(device("a"))) - len(w.distinct(device("a"))); whole != want || want < 30 {
					t.Fatalf("pages of %d, %s: %d expired readings in a single page, want %d", size, order, whole, want)
				}
				for limit := 1; limit <= 7; limit++ {
					q.Limit = limit
					for _, columns := range []bool{false, true} {
						if n, got := w.pagesOf(t, q, columns); got != whole || n < 2 {
							t.Errorf("pages of %d, %s, where %s, limit %d: %d expired readings in %d pages, want %d", size, order, where, limit, got, n, whole)
						}
					}
				}
				q.Limit, q.ScanLimit = 0, 2
				if n, got := w.pagesOf(t, q, false); got != whole || len(where) > 0 && n < 2 {
					t.Errorf("pages of %d, %s, where %s, scan limit 2: %d expired readings in %d pages, want %d", size, order, where, got, n, whole)
				}
			}
		}
	}
}

// pagesOf reads all pages of a query. It returns their number, and the number of expired readings that
// their coverages report.
func (w *world) pagesOf(t *testing.T, q query.Query, columns bool) (pages, expired int) {
	t.Helper()
	for {
		rows, err := w.engine.Open(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if err := drainAs(t, rows, columns); err != nil {
			t.Fatal(err)
		}
		if x := rows.Coverage().Expiry; x != nil {
			expired += x.Readings
		}
		at, more := rows.More()
		rows.Close()
		if pages++; !more {
			return pages, expired
		}
		q.After = &at
	}
}

// drainAs reads an answer to its end, by readings or by parts.
func drainAs(t *testing.T, rows *query.Rows, columns bool) error {
	if !columns {
		_, err := drain(t.Context(), rows)
		return err
	}
	for {
		part, err := rows.NextPart(t.Context())
		if err != nil {
			return fmt.Errorf("next part: %w", err)
		}
		if part.IsEnd() {
			return nil
		}
	}
}
