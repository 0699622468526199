package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

func TestReader_ReturnsWhatPutFunctionsWrote(t *testing.T) {
	at := time.Date(2026, 11, 18, 12, 0, 0, 1_000_000, time.UTC)
	attrs := map[string]varve.Value{}
	registry.PutText(attrs, "text", "a")
	registry.PutText(attrs, "empty", "")
	registry.PutTime(attrs, "time", at)
	registry.PutTime(attrs, "zero", time.Time{})
	registry.PutValue(attrs, "value", varve.IntValue(7))
	registry.PutValue(attrs, "none", varve.Value{})
	if len(attrs) != 3 {
		t.Errorf("%d attributes, want 3: %v", len(attrs), attrs)
	}
	r := registry.NewReader(&store.Item{Attrs: attrs})
	if r.Text("text") != "a" || r.Text("empty") != "" || !r.Time("time").Equal(at) || !r.Time("zero").IsZero() || r.Err() != nil {
		t.Errorf("%q %q %s %s, %v", r.Text("text"), r.Text("empty"), r.Time("time"), r.Time("zero"), r.Err())
	}
	if n := registry.Int(attrs["value"]); n != 7 || registry.Int(attrs["text"]) != 0 {
		t.Errorf("integers %d and %d, want 7 and 0", n, registry.Int(attrs["text"]))
	}
}

func TestReader_KeepsFirstError(t *testing.T) {
	it := &store.Item{Key: store.Key{PK: "P", SK: "S"}, Attrs: map[string]varve.Value{"a": varve.StringValue("x"), "b": varve.StringValue("y")}}
	r := registry.NewReader(it)
	r.Time("a")
	r.Time("b")
	if err := r.Err(); err == nil || !strings.HasPrefix(err.Error(), "item P S: a: ") {
		t.Errorf("%v: want the error of attribute a", err)
	}
}

func TestAllShards_IncludesEveryShardPK(t *testing.T) {
	all := map[string]bool{}
	for _, pk := range registry.AllShards("KIND", "t", "a", "b") {
		all[pk] = true
	}
	for _, device := range []string{"", "d", "d#1", "sensor_000001"} {
		for _, word := range []string{"a", "b"} {
			if pk := registry.ShardPK("KIND", "t", word, device); !all[pk] {
				t.Errorf("device %q in %s: partition %s is missing", device, word, pk)
			}
		}
	}
	if len(all) != 32 {
		t.Errorf("%d partitions, want 32", len(all))
	}
}

// TestParseTime_ReadsYear10000 reads a time that an earlier version stored for a time of 9999 in a zone
// west of UTC. The result must be a day earlier, so that JSON can represent it.
func TestParseTime_ReadsYear10000(t *testing.T) {
	at := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
	got, err := registry.ParseTime(registry.TimeText(at))
	if want := "9999-12-31T00:59:59Z"; err != nil || got.Format(time.RFC3339) != want {
		t.Errorf("%s: %s, %v, want %s", registry.TimeText(at), got, err, want)
	}
	if _, err := got.MarshalJSON(); err != nil {
		t.Error(err)
	}
}
