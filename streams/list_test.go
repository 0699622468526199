package streams_test

import (
	"context"
	"errors"
	"testing"

	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

// queries counts the queries of a store with versioned items.
type queries struct {
	*mem.Store
	n      int
	during func() // if not nil, is called once in the next query, after its result is complete
}

func (q *queries) Query(ctx context.Context, iq store.ItemQuery) (store.ItemPage, error) {
	q.n++
	page, err := q.Store.Query(ctx, iq)
	if do := q.during; do != nil {
		q.during = nil
		do()
	}
	return page, err
}

func listed(t *testing.T, r *streams.Registry, tenant string) (names string) {
	t.Helper()
	list, err := r.List(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		names += list[i].Name + list[i].Classes[0] + " "
	}
	return names
}

// TestList_ReadsChangedStreams lists streams repeatedly. The store must be queried only after a stream was
// changed, and each list must equal the stored streams.
func TestList_ReadsChangedStreams(t *testing.T) {
	c := newClock()
	s := &queries{Store: mem.New(c.Now)}
	r, other := streams.New(s, c.Now), streams.New(s.Store, c.Now)
	check := func(what string, wantQueries int, want string) {
		t.Helper()
		before := s.n
		if got := listed(t, r, "a"); got != want || s.n-before != wantQueries {
			t.Errorf("%s: %q after %d queries, want %q after %d", what, got, s.n-before, want, wantQueries)
		}
	}
	check("without streams", 1, "")
	check("once more", 0, "")
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := r.List(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	note(t, other, "a", "weather", "default")
	check("with a new stream", 1, "weatherdefault ")
	check("once more", 0, "weatherdefault ")
	note(t, other, "b", "rain", "default")
	if got := listed(t, r, "b"); got != "raindefault " {
		t.Errorf("tenant b: %q", got)
	}
	note(t, other, "a", "weather", "archive")
	check("with a new class", 1, "weatherarchive ")
	s.during = func() { note(t, other, "a", "wind", "default") }
	if err := s.Put(t.Context(), store.Item{Key: store.Key{PK: registry.TenantPK("a"), SK: "STREAM"}}); err != nil { // changes the version
		t.Fatal(err)
	}
	check("while a stream is added", 1, "weatherarchive ")
	check("afterwards", 1, "weatherarchive winddefault ")
}
