package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
)

// TestAggregateWriter_WritesExactStarts checks that the start of a bucket is exact, although RFC 3339 has no
// offsets with seconds.
func TestAggregateWriter_WritesExactStarts(t *testing.T) {
	zone, err := time.LoadLocation("Africa/Monrovia") // the offset was -00:44:30 until 1972
	if err != nil {
		t.Fatal(err)
	}
	for start, want := range map[string]string{"1970-01-02T00:44:30Z": "1970-01-02T00:44:30Z", "1980-01-02T00:00:00Z": "1980-01-02T00:00:00Z"} {
		at, err := time.Parse(time.RFC3339, start)
		if err != nil {
			t.Fatal(err)
		}
		w := wire.AggregateWriter{Format: wire.CSV, Zone: zone}
		if got := string(w.AppendRow(nil, &aggregate.Row{Start: at.Unix(), Readings: 1, Fields: make([]aggregate.Field, 1)})); !strings.HasPrefix(got, want+",") {
			t.Errorf("%s: %s, want %s", start, got, want)
		}
	}
}
