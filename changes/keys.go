package changes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

const (
	// markerShards is the number of partitions over which the markers of a stream are spread.
	markerShards = 16

	minuteMillis = int64(time.Minute / time.Millisecond)
	hourSeconds  = int64(time.Hour / time.Second)
	dayHours     = 24

	partition    = "CHANGES"
	minuteDigits = 10
	minutePrefix = "M#"
	separator    = "\x1f" // no name of a device contains this byte
)

var horizonKey = store.Key{PK: partition, SK: "HORIZON"}

const lastPrefix = "LAST#"

// lastKey returns the key of the item that records that some stream has markers in a minute. Items
// of several minutes exist, so that a late write cannot replace a later minute.
func lastKey(minute int64) store.Key {
	return store.Key{PK: partition, SK: lastPrefix + minuteText(minute)}
}

// Stream identifies a stream of a tenant.
type Stream struct{ Tenant, Name string }

func (s Stream) partition() string { return partition + "#" + s.Tenant + "/" + s.Name }

func (s Stream) indexKey() store.Key { return store.Key{PK: s.partition(), SK: "INDEX"} }

// minuteKey returns the key of the item that records that the stream has markers in a minute.
func (s Stream) minuteKey(minute int64) store.Key {
	return store.Key{PK: s.partition(), SK: minutePrefix + minuteText(minute)}
}

// shardOf returns the partition of the markers of a device.
func (s Stream) shardOf(device string) string {
	return s.shard(int(xxhash.Sum64String(device) % markerShards))
}

func (s Stream) shard(n int) string { return fmt.Sprintf("%s#%02d", s.partition(), n) }

func (s Stream) shards() []string {
	all := make([]string, markerShards)
	for i := range all {
		all[i] = s.shard(i)
	}
	return all
}

// minuteOf returns the number of the minute of an arrival, counted from 1970.
func minuteOf(millis int64) int64 { return millis / minuteMillis }

func minuteText(minute int64) string { return fmt.Sprintf("%010d", minute) }

// hours is a range of event hours, counted from 1970.
type hours struct{ from, n int64 }

func (h hours) covers(hour int64) bool { return h.from <= hour && hour < h.from+h.n }

func (h hours) window() varve.Window {
	return varve.Window{From: time.Unix(h.from*hourSeconds, 0).UTC(), To: time.Unix((h.from+h.n)*hourSeconds, 0).UTC()}
}

// marker is a change marker: readings of a device with these event hours arrived in a minute.
type marker struct {
	minute int64
	device string
	hours  hours
}

func (m marker) key(s Stream) store.Key {
	text := []string{minuteText(m.minute), m.device, strconv.FormatInt(m.hours.from, 10), strconv.FormatInt(m.hours.n, 10)}
	return store.Key{PK: s.shardOf(m.device), SK: strings.Join(text, separator)}
}

// deviceKey returns a sort key after all markers of a device in a minute, and before the markers of
// the next device.
func deviceKey(minute int64, device string) string {
	return minuteText(minute) + separator + device + separator + "\xff"
}

func parseMarker(k store.Key) (m marker, err error) {
	columns := strings.Split(k.SK, separator)
	if len(columns) != 4 {
		return m, fmt.Errorf("item %s: %q is not a key of a change marker", k.PK, k.SK)
	}
	m.device = columns[1]
	for i, n := range []*int64{&m.minute, nil, &m.hours.from, &m.hours.n} {
		if n == nil {
			continue
		}
		if *n, err = strconv.ParseInt(columns[i], 10, 64); err != nil {
			return m, fmt.Errorf("item %s: %q is not a key of a change marker: %w", k.PK, k.SK, err)
		}
	}
	return m, nil
}
