package intake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/intake"
	"github.com/varvedb/varve/agent/outbox"
)

// TestDestination_DividesLargeWrites checks that an outbox stores a write of more than half of its size.
func TestDestination_DividesLargeWrites(t *testing.T) {
	for name, full := range map[string]outbox.Policy{"drop": outbox.DropOldest, "refuse": outbox.RefuseNewest} {
		box, err := outbox.Open(outbox.Options{Dir: t.TempDir(), MaxBytes: outbox.MinBytes, Full: full})
		if err != nil {
			t.Fatal(err)
		}
		q, err := intake.New(box, time.Now).Admit()
		if err != nil {
			t.Fatal(err)
		}
		readings := make([]varve.Reading, 10)
		for i := range readings {
			readings[i] = varve.Reading{
				Series: varve.Series{Tenant: "t", Stream: "w", Device: fmt.Sprint("d", i)}, Time: time.Now(),
				Fields: []varve.Field{{Name: "a", Value: varve.StringValue(strings.Repeat("x", 60_000))}},
			}
		}
		verdicts := make([]varve.Verdict, len(readings))
		verdicts[3] = varve.Reject(varve.CodeMalformed, "a reading that was rejected before")
		if err := q.Write(t.Context(), readings, verdicts); err != nil {
			t.Fatal(err)
		}
		for i, v := range verdicts {
			if want := i != 3; (v.Outcome == varve.Queued) != want {
				t.Errorf("%s: the verdict of reading %d is %s, want queued: %t", name, i, v, want)
			}
		}
		if n := box.Stats().Readings; n != 9 {
			t.Errorf("%s: the outbox has %d readings, want 9", name, n)
		}
		q.Done()
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
}
