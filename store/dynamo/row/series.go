package row

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// seriesKey returns the hash key of a shard of a series. The key of shard 0 is the name of the series.
// In the key of another shard, a colon and the shard follow the stream's name. That name contains no
// colon, so ParseSeriesKey can find its end.
func seriesKey(s varve.Series, shard int) string {
	if shard == 0 {
		return s.String()
	}
	return s.Tenant + "/" + s.Stream + ":" + strconv.Itoa(shard) + "/" + s.Device
}

// ParseSeriesKey returns the series and the shard of a hash key.
func ParseSeriesKey(key string) (s varve.Series, shard int, err error) {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) < 3 {
		return s, 0, fmt.Errorf("%.80q is not a series", key)
	}
	stream, n, spread := strings.Cut(parts[1], ":")
	s = varve.Series{Tenant: parts[0], Stream: stream, Device: parts[2]}
	if spread {
		if shard, err = strconv.Atoi(n); err != nil || shard < 1 || shard >= store.MaxShards {
			return s, 0, fmt.Errorf("%.80q has no shard from 1 to %d", key, store.MaxShards-1)
		}
	}
	if v := s.Validate(); v.Outcome == varve.Rejected || seriesKey(s, shard) != key {
		return s, 0, fmt.Errorf("%.80q is not a series", key)
	}
	return s, shard, nil
}

// ShardOf returns the shard of the reading with an id: a hash of the id, modulo the number of shards.
// The keys of stored rows depend on it, so the result for an id must never change.
func ShardOf(id varve.ID, shards int) int {
	if shards <= 1 {
		return 0
	}
	return int(xxhash.Sum64String(id.String()) % uint64(shards))
}
