package wire

import (
	"fmt"
	"strings"
	"testing"
)

// TestBatch_ForgetsNames reads bodies with 20,000 devices and 20,000 fields. Batches of 250 readings must remember
// few names.
func TestBatch_ForgetsNames(t *testing.T) {
	var body strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&body, `{"device":"d%d","time":1475001526000,"fields":{"f%d":1}}`+"\n", i, i)
	}
	b := Batch{MaxReadings: 250}
	r, err := NewReader(new(Memory), NDJSON, strings.NewReader(body.String()), Defaults{Tenant: "t", Stream: "s", Time: TimeFormat{Precision: Milliseconds}}, Columns{})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		b.Reset()
		err = r.Read(&b)
		if d, f := len(b.devices.known), len(b.names.names); d > 1000 || f > 1000 {
			t.Fatalf("%d devices and %d fields are remembered, want at most 1000", d, f)
		}
	}
}
