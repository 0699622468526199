package streams_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

// TestPlanRepairs_ReadsAllStreamsAtOnce plans the repairs of many streams. Of each three streams, one is
// missing, and another lacks a row window. One read must return all streams.
func TestPlanRepairs_ReadsAllStreamsAtOnce(t *testing.T) {
	clock := newClock()
	items := &counted{Items: mem.New(clock.Now)}
	r := streams.New(items, clock.Now)
	const n = 300
	found := make([]store.StreamLayout, n)
	for i := range found {
		found[i] = store.StreamLayout{Tenant: "acme", Stream: fmt.Sprintf("s%03d", i), Window: time.Millisecond}
		if i%3 > 0 {
			note(t, r, "acme", found[i].Stream, "default")
		}
		if i%3 == 2 {
			found[i].Window = time.Hour
		}
	}
	items.gets = 0
	plan, err := r.PlanRepairs(t.Context(), found)
	if err != nil || len(plan) != n*2/3 || items.gets != 1 {
		t.Fatalf("%d repairs with %d reads, %v; want %d with one", len(plan), items.gets, err, n*2/3)
	}
	for i := range plan {
		want := found[i/2*3+i%2*2]
		if p := &plan[i]; p.Name != want.Stream || p.Missing != (i%2 == 0) || p.Missing == (p.Window == time.Hour) {
			t.Errorf("repair %d is %+v, want one of %+v", i, p, want)
		}
	}
}
