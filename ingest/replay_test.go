package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/rejects"
)

// replayable returns a reject whose reading is valid.
func replayable(n int) rejects.Reject {
	text := fmt.Sprintf(`{"device":"d1","time":%d,"fields":{"a":1}}`, noon.UnixMilli()-int64(n))
	return rejects.Reject{ID: fmt.Sprint(n), Tenant: varve.DefaultTenant, Stream: "weather", Format: "ndjson", Text: text, First: noon, Last: noon}
}

// TestReplay_NamesObstacle checks the problem of a reject that cannot be replayed.
func TestReplay_NamesObstacle(t *testing.T) {
	w := newRejectWorld(t, 100)
	list := []rejects.Reject{replayable(0), replayable(1), replayable(2), replayable(3)}
	list[0].Cut, list[1].Format, list[2].Stream = true, "", ""
	results, err := w.begin(t, apikeys.Everything()).Replay(t.Context(), list, &ingest.Replay{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []varve.Code{varve.CodeTooLarge, varve.CodeMalformed, varve.CodeStreamInvalid, ""} {
		if got := results[i]; got.Problem.Code != want || got.Skipped != (want != "") || got.Done() == got.Skipped {
			t.Errorf("reject %d: %+v, want %q", i, got, want)
		}
	}
}

// TestReplay_ReturnsResultOfEachReject checks that a replay that fails has a result for each reject.
func TestReplay_ReturnsResultOfEachReject(t *testing.T) {
	w := newRejectWorld(t, 100)
	var list []rejects.Reject
	for n := range 1200 {
		list = append(list, replayable(n))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, err := w.begin(t, apikeys.Everything()).Replay(ctx, list, &ingest.Replay{})
	if !errors.Is(err, context.Canceled) || len(results) != len(list) {
		t.Fatalf("%d results of %d rejects, %v", len(results), len(list), err)
	}
	for i, r := range results {
		if r.ID != list[i].ID || r.Done() || r.Problem.Code != varve.CodeUnavailable {
			t.Fatalf("result %d is %+v, want the problem unavailable", i, r)
		}
	}
}
