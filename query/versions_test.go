package query_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// TestNext_ReadsManyVersionsInFewReads reads readings with 2000 versions each. The reads that complete a page
// must grow, because a store decodes all earlier versions in each of them.
func TestNext_ReadsManyVersionsInFewReads(t *testing.T) {
	const versions, most = 2000, 40
	w := newWorld(t, 400*day, 400*day, 1)
	for _, at := range []time.Time{start.Add(-time.Hour), start.Add(-time.Minute)} {
		r := reading("corrected", at, at, "id", 1)
		for v := range uint32(versions) {
			r.ID = r.ID.WithVersion(v)
			w.put(t, retention.DefaultClass, r)
		}
	}
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		for _, limit := range []int{0, 1} {
			w.store.ranges = nil
			q := query.Query{Series: device("corrected"), Window: varve.AllTime(), Order: order, Limit: limit}
			got, _ := w.ask(t, q)
			want, _ := w.answer(q)
			same(t, got, want)
			if n := len(w.store.ranges); n > most {
				t.Errorf("%s, limit %d: %d reads, want at most %d", order, limit, n, most)
			}
		}
	}
	w.store.ranges = nil
	n := 0
	scan := store.CopyFunc(func(store.Copy) error { n++; return nil })
	if err := w.engine.ScanCopies(t.Context(), device("corrected"), varve.AllTime(), scan); err != nil || n != 2*versions {
		t.Errorf("the scan has %d copies, %v, want %d", n, err, 2*versions)
	}
	if n := len(w.store.ranges); n > most {
		t.Errorf("the scan has %d reads, want at most %d", n, most)
	}
}
