package dynamo

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
)

// TestWays: below closed rows, readings of a wide row go by ninths of its window,
// as long as these are a millisecond or longer, and then by their keys' hashes.
func TestWays(t *testing.T) {
	way := func(key string, offset, window time.Duration, depth int) string {
		p := place{ms: 1794830400000}
		for range depth {
			p = p.below(key, int64(offset), window)
		}
		return p.path
	}
	for _, c := range []struct {
		offset time.Duration
		want   string // of an hour's ninths: 400 s, 44.4 s, 4.94 s, 549 ms, 61 ms, 6.8 ms
	}{
		{0, "111111"},
		{400*time.Second - 1, "199999"},
		{400 * time.Second, "211111"},
		{30 * time.Minute, "555555"},
		{time.Hour - 1, "999999"},
	} {
		if got := way("EHJ0CP1xDFm", c.offset, time.Hour, 6); got != c.want {
			t.Errorf("%s into an hour: %s, want %s", c.offset, got, c.want)
		}
	}
	hashed := way("EHJ0CP1xDFm", 0, time.Millisecond, 8)
	if got := way("EHJ0CP1xDFm", 30*time.Minute, time.Hour, 14); got != "555555"+hashed {
		t.Errorf("beyond a millisecond: %s, want 555555%s", got, hashed)
	}
	if other := way("4y6yUsFpIf5", 0, time.Millisecond, 8); other == hashed || strings.Trim(hashed, "123456789") != "" {
		t.Errorf("ways %s and %s", hashed, other)
	}
}

// TestKeysSortAsTime: whatever the ids and times of readings in a wide row, their
// keys are in the order of time, and say it again.
func TestKeysSortAsTime(t *testing.T) {
	begin := time.UnixMilli(1794830400000)
	last := ""
	for _, offset := range []time.Duration{0, 1, 999_999, time.Millisecond, time.Millisecond + 1, time.Minute, time.Hour - time.Millisecond, time.Hour - 1} {
		for _, id := range []string{"-", ".x", "A2345678901", "zz", "~", "é"} {
			parsed, err := varve.ParseID(id)
			if err != nil {
				t.Fatal(err)
			}
			r := varve.Reading{ID: parsed, Time: begin.Add(offset)}
			key := rowKey(&r, begin.UnixMilli(), true)
			got, back, ok := parseRowKey(key)
			if !ok || got != int64(offset) || back != parsed {
				t.Errorf("%s at %s: key %q says %d, %s, %v", id, offset, key, got, back, ok)
			}
			if id == "-" && key <= last { // the first id of each time, against the last of the one before
				t.Errorf("key %q at %s is not behind %q", key, offset, last)
			}
			last = max(last, key)
		}
	}
}

// TestShards promises that a hot device's readings are spread evenly, by their
// ids: no shard has over a tenth more than its share, and a reading's is the same
// at all times.
func TestShards(t *testing.T) {
	const readings, shards = 40_000, 4
	counts := [shards]int{}
	for i := range readings {
		r := varve.Reading{
			Series: varve.Series{Tenant: "acme", Stream: "weather", Device: "hot"}, Time: time.Unix(1794830400, 0),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i))}},
		}
		if v := r.Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
		counts[shardOf(r.ID, shards)]++
	}
	for i, n := range counts {
		if n > readings/shards*11/10 {
			t.Errorf("shard %d has %d of %d readings", i, n, readings)
		}
	}
	id, err := varve.ParseID("EHJ0CP1xDFm")
	if err != nil {
		t.Fatal(err)
	}
	if got := shardOf(id, shards); got != 3 {
		t.Errorf("what is stored in shard 3 is looked for in %d", got)
	}
}
