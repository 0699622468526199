package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/store/mem"
)

// TestPace_RestsForLiveWritesOnly checks that bulk work rests for a live write, and not for a source
// that waited in a queue.
func TestPace_RestsForLiveWritesOnly(t *testing.T) {
	for _, queued := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(nil), NoRollups: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}()
			in := ingest.New(ingest.Options{Router: e.Router, Budget: wire.NewBudget(1 << 20)})
			pace := in.Pace()
			session, err := in.Begin(apikeys.Everything())
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			body := fmt.Sprintf(`{"device":"d1","time":%d,"fields":{"a":1}}`, time.Now().UnixMilli())
			src := &ingest.Source{
				Format: wire.JSON, Body: strings.NewReader(body), Queued: queued, Defaults: wire.Defaults{Tenant: varve.DefaultTenant, Stream: "weather"},
			}
			if err := session.Read(t.Context(), src); err != nil || session.Tally.Stored != 1 {
				t.Fatalf("%+v %v", session.Tally, err)
			}
			<-time.After(3 * time.Millisecond) // stands for a step of bulk work
			before := time.Now()
			pace.Rest()
			if rested := time.Since(before) > 0; rested == queued {
				t.Errorf("after a source with Queued %t, bulk work rested %s", queued, time.Since(before))
			}
		})
	}
}
