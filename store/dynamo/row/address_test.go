package row_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/dynamo/row"
)

// TestAddress_OverflowPathFollowsTimeThenHash checks overflow paths in a wide row. They depend on
// ninths of the row window as long as these are at least a millisecond, and then on the hash of the
// key.
func TestAddress_OverflowPathFollowsTimeThenHash(t *testing.T) {
	path := func(key string, offset, window time.Duration, depth int) string {
		a := row.Ref{MS: 1794830400000}.Address()
		for range depth {
			a = a.Below(&row.Entry{Key: key, Offset: int64(offset)}, window)
		}
		return a.Overflow
	}
	for _, c := range []struct {
		offset time.Duration
		want   string // overflow path; its digits count ninths of an hour, and ninths of those: 400 s, 44.4 s, 4.94 s, 549 ms, 61 ms, 6.8 ms
	}{
		{0, "111111"},
		{400*time.Second - 1, "199999"},
		{400 * time.Second, "211111"},
		{30 * time.Minute, "555555"},
		{time.Hour - 1, "999999"},
	} {
		if got := path("EHJ0CP1xDFm", c.offset, time.Hour, 6); got != c.want {
			t.Errorf("%s into an hour: %s, want %s", c.offset, got, c.want)
		}
	}
	hashed := path("EHJ0CP1xDFm", 0, time.Millisecond, 8)
	if got := path("EHJ0CP1xDFm", 30*time.Minute, time.Hour, 14); got != "555555"+hashed {
		t.Errorf("below a millisecond: %s, want 555555%s", got, hashed)
	}
	if other := path("4y6yUsFpIf5", 0, time.Millisecond, 8); other == hashed || strings.Trim(hashed, "123456789") != "" {
		t.Errorf("paths %s and %s, want two of digits from 1 to 9", hashed, other)
	}
}

// TestKey_SortsByTime checks that the keys of a wide row sort by time and parse to the same time
// and id.
func TestKey_SortsByTime(t *testing.T) {
	begin := time.UnixMilli(1794830400000)
	last := ""
	for _, offset := range []time.Duration{0, 1, 999_999, time.Millisecond, time.Millisecond + 1, time.Minute, time.Hour - time.Millisecond, time.Hour - 1} {
		for _, id := range []string{"-", ".x", "A2345678901", "zz", "~", "é"} {
			parsed, err := varve.ParseID(id)
			if err != nil {
				t.Fatal(err)
			}
			r := varve.Reading{ID: parsed, Time: begin.Add(offset)}
			key := row.Key(&r, begin.UnixMilli(), true)
			got, gotID, ok := row.ParseKey(key)
			if !ok || got != int64(offset) || gotID != parsed {
				t.Errorf("%s at %s: key %q parses to %d, %s, %v", id, offset, key, got, gotID, ok)
			}
			if id == "-" && key <= last { // the first id of a time must sort after the last id of the previous time
				t.Errorf("key %q at %s does not follow %q", key, offset, last)
			}
			last = max(last, key)
		}
	}
}

// TestShardOf_SpreadsEvenly spreads the readings of a device by their ids. No shard may have more
// than 110 % of its share, and the shard of a reading must never change.
func TestShardOf_SpreadsEvenly(t *testing.T) {
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
		counts[row.ShardOf(r.ID, shards)]++
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
	if got := row.ShardOf(id, shards); got != 3 {
		t.Errorf("shard %d of an id that is stored in shard 3", got)
	}
}
