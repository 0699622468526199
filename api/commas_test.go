package api_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve/api/client"
)

// TestClient_NamesDevicesWithCommas checks that the device "a,b" is one device, and not the devices a and b.
func TestClient_NamesDevicesWithCommas(t *testing.T) {
	s := newServer(t, nil)
	s.write(readingOf("a,b", noon, `"t":1`), readingOf("a", noon, `"t":20`), readingOf("b", noon.Add(-time.Minute), `"t":30`), readingOf("c", noon, `"t":3`))
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a,b", "c"}
	counts, err := c.Counts(t.Context(), client.CountQuery{Stream: "weather", Devices: names})
	if err != nil || counts.Devices != 2 || counts.Readings != 2 {
		t.Errorf("counts: %+v, %v, want the readings of a,b and c", counts, err)
	}
	sum, err := c.Aggregate(t.Context(), client.AggregateQuery{Stream: "weather", Devices: names, Step: "1d", Functions: []string{"sum"}, Merge: true})
	if err != nil || len(sum.Buckets) != 1 || string(sum.Buckets[0].Fields["t"]["sum"]) != "4" {
		t.Errorf("aggregate: %+v, %v, want the sum 4", sum, err)
	}
	latest, err := c.Latest(t.Context(), "weather", 0, names...)
	if err != nil || len(latest) != 2 || latest[0].Device != "a,b" || latest[0].Reading == nil {
		t.Errorf("latest: %+v, %v, want a,b and c", latest, err)
	}
}
