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

// TestDestination_StoresRecordsOfReusedMemory writes readings of changing streams, one write after another. The
// outbox must have exactly these readings, although later writes reuse the memory of earlier ones.
func TestDestination_StoresRecordsOfReusedMemory(t *testing.T) {
	box, err := outbox.Open(outbox.Options{Dir: t.TempDir(), MaxBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}()
	to := intake.New(box, time.Now)
	want := map[string]string{}
	for n := range 20 {
		readings := make([]varve.Reading, 1+n*37%50)
		for i := range readings {
			stream, device := fmt.Sprint("s", (n+i)%3), fmt.Sprintf("d-%d-%d", n, i)
			readings[i] = varve.Reading{
				Series: varve.Series{Tenant: "t", Stream: stream, Device: device}, Time: time.Now(),
				Fields: []varve.Field{{Name: "a", Value: varve.StringValue(strings.Repeat("x", n*97%2000))}},
			}
			want[device] = stream
		}
		q, err := to.Admit()
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Write(t.Context(), readings, make([]varve.Verdict, len(readings))); err != nil {
			t.Fatal(err)
		}
		q.Done()
	}
	for box.Stats().Readings > 0 {
		batch, err := box.TryNext(1<<20, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range batch.Records {
			for line := range strings.Lines(string(r.Lines)) {
				_, rest, _ := strings.Cut(line, `"device":"`)
				device, _, _ := strings.Cut(rest, `"`)
				if want[device] != r.Stream {
					t.Errorf("stream %s has device %q, want it in %q", r.Stream, device, want[device])
				}
				delete(want, device)
			}
		}
		if err := box.Confirm(batch); err != nil {
			t.Fatal(err)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d readings are missing", len(want))
	}
}
