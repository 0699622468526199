package dynamosim_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/store/storetest"
	"github.com/varvedb/varve/tests/dynamotest"
)

var registries atomic.Int64

// open returns a store with a registry and tables of its own.
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

// TestStandIn_PassesConformanceSuite runs the conformance suite of the store on the stand-in.
func TestStandIn_PassesConformanceSuite(t *testing.T) {
	for _, e := range []dynamotest.Emulator{dynamotest.StandIn, dynamotest.StandInDelayed} {
		t.Run(e.Name, func(t *testing.T) {
			if testing.Short() && e.Name != dynamotest.StandIn.Name {
				t.Skip("the other one is enough in a short test")
			}
			storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
				return open(t, e.Start(t), now)
			}, storetest.CountsLag)
		})
	}
}
