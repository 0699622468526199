package rejects_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store"
)

// TestFind_PrefersEventTime checks that the reject with the event time explains a missing reading.
// If no such reject exists, rejects without a readable time explain it, if they arrived up to an
// hour later.
func TestFind_PrefersEventTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		begin := time.Now()
		at := begin.Add(48 * time.Hour)
		exact, unread, other, late := reject("exact"), reject("unread"), reject("other"), reject("late")
		exact.Time, other.Device = at, "d2"
		late.First = begin.Add(3 * time.Hour)
		if _, err := w.Add(t.Context(), []rejects.Reject{exact, unread, other, late}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			stream string
			from   time.Time
			want   string
		}{
			{"event time", "weather", at, "exact"},
			{"event time in any stream", "", at, "exact"},
			{"arrival half an hour later", "weather", begin.Add(-30 * time.Minute), "unread"},
			{"arrival two hours later", "weather", begin.Add(-2 * time.Hour), ""},
			{"another stream", "indoor", at, ""},
		} {
			found, err := w.Find(t.Context(), varve.Series{Tenant: "acme", Stream: c.stream, Device: "d"}, varve.Window{From: c.from, To: c.from.Add(time.Second)})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, r := range found {
				got += r.Text
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	})
}

// countedQueries counts the queries of a store.
type countedQueries struct {
	store.Items
	queries *int
}

func (c countedQueries) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	*c.queries++
	return c.Items.Query(ctx, q)
}

// TestList_ReadsManyItemsAtOnce checks that a small page of rejects with a rare code needs few queries.
func TestList_ReadsManyItemsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queries := 0
		w := newWorld(t, func(o *rejects.Options) { o.Limit, o.Items = 1000, countedQueries{o.Items, &queries} })
		rare := reject("rare")
		rare.Code = varve.CodeTooLarge
		list := []rejects.Reject{rare}
		for i := range 500 {
			r := reject(fmt.Sprint(i))
			r.First = r.First.Add(time.Second)
			list = append(list, r)
		}
		if _, err := w.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		queries = 0
		page, err := w.List(t.Context(), rejects.Query{Tenant: "acme", Code: varve.CodeTooLarge, Limit: 1})
		if err != nil || len(page.Items) != 1 || queries != 1 {
			t.Errorf("%d rejects after %d queries, %v, want 1 reject after 1 query", len(page.Items), queries, err)
		}
	})
}
