package dynamosim_test

import (
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/storetest"
	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
)

var registries atomic.Int64

// open returns a new store with its own registry and tables.
func open(t *testing.T, url string, now func() time.Time) *dynamo.Store {
	t.Helper()
	s, err := dynamo.Open(t.Context(), dynamo.Options{
		Client: dynamotest.Client(url), Registry: fmt.Sprintf("sim_registry%d", registries.Add(1)), Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// startHere serves a stand-in from this process, so that the race detector checks it.
func startHere(t *testing.T, o dynamosim.Options) (url string) {
	t.Helper()
	server := httptest.NewServer(dynamosim.New(o))
	t.Cleanup(server.Close)
	return server.URL
}

// TestStandIn_PassesConformanceSuite runs the conformance suite of stores on the stand-in, with
// and without delays for the creation and deletion of tables.
func TestStandIn_PassesConformanceSuite(t *testing.T) {
	for name, delay := range map[string]time.Duration{"at once": 0, "delayed": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && delay > 0 {
				t.Skip("the other one is enough in a short test")
			}
			storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
				return open(t, startHere(t, dynamosim.Options{TableDelay: delay}), now)
			}, storetest.CountsLag)
		})
	}
}
