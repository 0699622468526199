package rejects_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/rejects"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

const day = 24 * time.Hour

type world struct {
	*rejects.Registry
	items *registrytest.Items
}

func newWorld(t *testing.T, change func(*rejects.Options)) *world {
	t.Helper()
	w := &world{items: registrytest.New(time.Now)}
	o := rejects.Options{Items: w.items, Now: time.Now, Limit: 100, Retention: 30 * day}
	if change != nil {
		change(&o)
	}
	w.Registry = rejects.New(o)
	t.Cleanup(w.Close)
	return w
}

// reject returns a reject of device d with a text.
func reject(text string) rejects.Reject {
	return rejects.Reject{
		Tenant: "acme", Stream: "weather", Device: "d", Door: "http", From: "k1", First: time.Now(), Times: 1,
		Code: varve.CodeTimeInFuture, Message: "too late", Format: "ndjson", Options: "precision=s", Text: text,
	}
}

func (w *world) list(t *testing.T, q rejects.Query) []rejects.Reject {
	t.Helper()
	if q.Tenant == "" {
		q.Tenant = "acme"
	}
	var all []rejects.Reject
	for {
		page, err := w.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

// TestAdd_SeparatesTopics adds the same unreadable message from two topics, and from one of them again. Each
// topic must have a reject.
func TestAdd_SeparatesTopics(t *testing.T) {
	w := newWorld(t, nil)
	for _, topic := range []string{"site/a", "site/b", "site/a"} {
		r := rejects.Reject{Tenant: "acme", Door: "mqtt", From: topic, First: time.Now(), Times: 1, Code: varve.CodeMalformed, Text: "?"}
		if _, err := w.Add(t.Context(), []rejects.Reject{r}); err != nil {
			t.Fatal(err)
		}
	}
	times := map[string]int64{}
	for _, r := range w.list(t, rejects.Query{}) {
		times[r.From] += r.Times
	}
	if len(times) != 2 || times["site/a"] != 2 || times["site/b"] != 1 {
		t.Errorf("the rejects are %v, want two for site/a and one for site/b", times)
	}
}

// TestAdd_MergesResentReadings checks that a resent reading is one reject with a count. The id of
// the reject does not depend on the arrival.
func TestAdd_MergesResentReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		first := time.Now()
		for range 3 {
			if kept, err := w.Add(t.Context(), []rejects.Reject{reject("a"), reject("a"), reject("b\xff")}); err != nil || !kept[0] || !kept[1] || !kept[2] {
				t.Fatal(kept, err)
			}
			<-time.After(time.Hour)
		}
		list := w.list(t, rejects.Query{})
		if len(list) != 2 {
			t.Fatalf("%d rejects, want 2", len(list))
		}
		for _, r := range list {
			want := int64(6)
			if r.Text == "b\xff" {
				want = 3
			}
			if r.Times != want || !r.First.Equal(first) || !r.Last.Equal(first.Add(2*time.Hour)) || r.From != "k1" || r.Options != "precision=s" || !r.Replayable() {
				t.Errorf("%+v, want %d times", r, want)
			}
		}
		if c := w.Counts(); c.Stored != 9 || c.Dropped[rejects.LimitReached] != 0 {
			t.Errorf("%+v, want 9 stored", c)
		}
	})
}

// TestList_FiltersAndPages checks each filter, the order of pages, and that a tenant sees only its
// own rejects.
func TestList_FiltersAndPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 10 {
			r := reject(fmt.Sprint(i))
			r.Stream, r.Device, r.Door = fmt.Sprint("s", i%2), fmt.Sprint("d", i%3), fmt.Sprint("door", i%5)
			if i == 9 {
				r.Tenant, r.Code = "other", varve.CodeConflict
			}
			if _, err := w.Add(t.Context(), []rejects.Reject{r}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		}
		for _, c := range []struct {
			name string
			q    rejects.Query
			want string
		}{
			{"all", rejects.Query{Limit: 2}, "876543210"},
			{"stream", rejects.Query{Stream: "s1", Limit: 3}, "7531"},
			{"device", rejects.Query{Device: "d0", Limit: 1}, "630"},
			{"door", rejects.Query{Door: "door4"}, "4"},
			{"code", rejects.Query{Code: varve.CodeConflict}, ""},
			{"since", rejects.Query{Since: time.Now().Add(-3 * time.Minute), Limit: 1}, "87"},
			{"tenant", rejects.Query{Tenant: "other", Code: varve.CodeConflict}, "9"},
		} {
			var got strings.Builder
			for _, r := range w.list(t, c.q) {
				got.WriteString(r.Text)
			}
			if got.String() != c.want {
				t.Errorf("%s: %q, want %q", c.name, got.String(), c.want)
			}
		}
	})
}

// TestRejects_Expire checks that a reject expires when its retention has passed since its last
// arrival, and then makes room.
func TestRejects_Expire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *rejects.Options) { o.Limit = 1 })
		if err := w.items.Put(t.Context(), store.Item{Key: store.Key{PK: "DEVICE#acme/d", SK: "x"}}); err != nil {
			t.Fatal(err)
		}
		add := func(text string) bool {
			kept, err := w.Add(t.Context(), []rejects.Reject{reject(text)})
			if err != nil {
				t.Fatal(err)
			}
			return kept[0]
		}
		if !add("a") || add("b") {
			t.Fatal("the limit of one does not hold")
		}
		<-time.After(20 * day)
		if !add("a") {
			t.Fatal("the reject at the limit was not counted")
		}
		<-time.After(29 * day)
		if n := len(w.list(t, rejects.Query{})); n != 1 {
			t.Fatalf("%d rejects 29 days after the last arrival, want 1", n)
		}
		<-time.After(2 * day)
		if n := len(w.list(t, rejects.Query{})); n != 0 || !add("b") {
			t.Errorf("%d rejects after 31 days, want none and room", n)
		}
		if items, err := w.items.Get(t.Context(), []store.Key{{PK: "DEVICE#acme/d", SK: "x"}}, true); err != nil || len(items) != 1 {
			t.Errorf("another item expired: %v", err)
		}
	})
}

// TestDelete_MakesRoom checks that a deletion at the limit makes room immediately.
func TestDelete_MakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *rejects.Options) { o.Limit = 2 })
		if _, err := w.Add(t.Context(), []rejects.Reject{reject("a"), reject("b"), reject("c")}); err != nil {
			t.Fatal(err)
		}
		if err := w.Delete(t.Context(), "acme", w.list(t, rejects.Query{})[:1]); err != nil {
			t.Fatal(err)
		}
		kept, err := w.Add(t.Context(), []rejects.Reject{reject("d"), reject("e")})
		if err != nil || !kept[0] || kept[1] {
			t.Errorf("%v %v, want room for one", kept, err)
		}
	})
}

// TestOffer_BoundsFlood checks that a flood of 200,000 rejects is bounded in memory and in items,
// that each is counted once, and that another stream still has room.
func TestOffer_BoundsFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *rejects.Options) { o.Limit = 5000 })
		const flood = 200_000
		for i := 0; i < flood; i += 1000 {
			list := make([]rejects.Reject, 1000)
			for j := range list {
				list[j] = reject(fmt.Sprint("text ", i+j))
			}
			w.Offer(list)
		}
		other := reject("quiet")
		other.Stream = "quiet"
		w.Offer([]rejects.Reject{other})
		<-time.After(time.Minute)
		c := w.Counts()
		if dropped := c.Dropped[rejects.BufferFull] + c.Dropped[rejects.LimitReached]; c.Stored != 5001 || c.Stored+dropped != flood+1 {
			t.Errorf("%+v, want 5001 stored and %d in all", c, flood+1)
		}
		if c.Dropped[rejects.BufferFull] < flood/2 {
			t.Errorf("%+v: the buffer is not bounded", c)
		}
		if n := len(w.list(t, rejects.Query{Stream: "quiet"})); n != 1 {
			t.Errorf("%d rejects of the other stream, want 1", n)
		}
		if n := len(w.list(t, rejects.Query{Stream: "weather", Limit: 1000})); n != 5000 {
			t.Errorf("%d rejects of the flood, want 5000", n)
		}
	})
}

// TestOffer_CountsRepeatedReading checks that a flood of one reading is one reject.
func TestOffer_CountsRepeatedReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for range 100_000 {
			w.Offer([]rejects.Reject{reject("same")})
		}
		if list := w.list(t, rejects.Query{}); len(list) != 1 || list[0].Times != 100_000 {
			t.Errorf("%d rejects, %d times, want 1 and 100000", len(list), list[0].Times)
		}
	})
}

// TestOffer_RetriesFailedWrites checks that rejects survive failures of the store, and that Close
// writes the rest.
func TestOffer_RetriesFailedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures atomic.Int64
		w := newWorld(t, func(o *rejects.Options) { o.Failed = func(string, error) { failures.Add(1) } })
		w.items.FailWrites(func(store.Key) error { return registrytest.ErrDisk })
		w.Offer([]rejects.Reject{reject("a")})
		<-time.After(10 * time.Second)
		if failures.Load() == 0 {
			t.Fatal("no failure was reported")
		}
		if n := len(w.list(t, rejects.Query{})); n != 0 {
			t.Errorf("%d rejects are stored by a store that fails", n)
		}
		w.items.FailWrites(nil)
		<-time.After(2 * time.Second)
		w.Offer([]rejects.Reject{reject("b")})
		w.Close()
		if c := w.Counts(); c.Stored != 2 || c.Dropped[rejects.StoreFailed] != 0 {
			t.Errorf("%+v, want 2 stored", c)
		}
	})
}

// TestAdd_CutsLongTexts checks that a long text is cut and cannot be replayed, and that two texts
// with the same beginning are two rejects.
func TestAdd_CutsLongTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		long := strings.Repeat("x", rejects.MaxText)
		if _, err := w.Add(t.Context(), []rejects.Reject{reject(long), reject(long + "y"), reject(long + "z")}); err != nil {
			t.Fatal(err)
		}
		cut := 0
		list := w.list(t, rejects.Query{})
		for _, r := range list {
			if r.Cut {
				cut++
			}
			if r.Text != long || r.Cut == r.Replayable() {
				t.Errorf("%d bytes, cut %t, replayable %t", len(r.Text), r.Cut, r.Replayable())
			}
		}
		if len(list) != 3 || cut != 2 {
			t.Errorf("%d rejects, %d cut, want 3 and 2", len(list), cut)
		}
	})
}

// TestRegistry_SurvivesRestart closes and reopens an embedded store with a reject. The reject must still be
// listed, and deletable.
func TestRegistry_SurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	open := func() (*rejects.Registry, *local.Store) {
		s, err := local.Open(local.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return rejects.New(rejects.Options{Items: s, Now: time.Now, Limit: 10, Retention: day}), s
	}
	g, s := open()
	g.Offer([]rejects.Reject{reject("a")})
	g.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	g, s = open()
	page, err := g.List(t.Context(), rejects.Query{Tenant: "acme"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Text != "a" {
		t.Errorf("%+v, %v, want the reject", page, err)
	}
	if err := g.Delete(t.Context(), "acme", page.Items); err != nil {
		t.Error(err)
	}
	if _, err := g.Get(t.Context(), "acme", page.Items[0].ID); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("after the deletion: %v", err)
	}
	g.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
