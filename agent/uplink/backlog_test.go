package uplink_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve/agent/outbox"
)

// TestSender_SendsBacklogWithoutPause fills an outbox with large readings, so that each batch is full by its
// bytes. All readings must be sent within a second, although Options.Every is a minute.
func TestSender_SendsBacklogWithoutPause(t *testing.T) {
	const readings = 2000
	withOutbox(t, outbox.Options{}, nil, func(t *testing.T, g *gateway) {
		g.stop()
		g.options.Every = time.Minute
		var records []outbox.Record
		for n := range readings {
			line := fmt.Appendf(nil, `{"device":"d","time":%q,"fields":{"n":%d,"text":"%s"}}`+"\n",
				time.Now().UTC().Format(time.RFC3339), n, bytes.Repeat([]byte("x"), 1000))
			records = append(records, outbox.Record{Stream: "s", Readings: 1, Lines: line})
		}
		if err := g.box.Append(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		g.start(t)
		wait(time.Second)
		if left := g.box.Stats().Readings; left != 0 {
			t.Errorf("%d of %d readings are left after a second, want 0", left, readings)
		}
	})
}
