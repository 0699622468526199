package local

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
)

// TestLostTimes_CoverLastChunk checks the event times of lost ranges. If a range ends with a lost
// chunk, the times of the chunk's readings are unknown. So the range must reach to the end of the
// table.
func TestLostTimes_CoverLastChunk(t *testing.T) {
	prefix := appendSeriesSpace(nil, 7, varve.Series{Tenant: "t", Stream: "s", Device: "d"})
	begin, end := time.Unix(1_000_000, 0).UTC(), time.Unix(2_000_000, 0).UTC()
	key := func(at time.Time) []byte { return appendChunkKey(nil, prefix, level1, at.UnixNano(), 1) }
	later := begin.Add(time.Hour)
	rows := []struct {
		to   []byte
		want time.Time
	}{{next(key(begin)), end}, {next(key(later)), end}, {key(later), later}}
	for i, row := range rows {
		l := lost{From: key(begin), To: row.to}
		if from, to := l.times(end); !from.Equal(begin) || !to.Equal(row.want) {
			t.Errorf("range %d: %s to %s, want %s to %s", i, from, to, begin, row.want)
		}
	}
}
