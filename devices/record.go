package devices

import (
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// lastSeenSK is the prefix of the sort keys of last-seen records.
//
// The last-seen time of a device is an item of its own, from the device's second minute on. It is
// written every minute in which the device sends. These writes must not change the indexes, and
// must not conflict with a change by hand. If a deadman rule names a stream, the last-seen time in
// this stream is another item.
const lastSeenSK = "#SEEN"

type deviceID struct{ tenant, device string }

// recordID names the last-seen record of a device, either for any stream or for one stream.
type recordID struct {
	deviceID
	stream string // if empty, the record is for any stream
}

func (id *recordID) key() store.Key { return lastSeenKey(id.tenant, id.device, id.stream) }

func lastSeenKey(tenant, device, stream string) store.Key {
	sk := lastSeenSK
	if stream != "" {
		sk += "#" + stream
	}
	return store.Key{PK: registry.DevicePK(tenant, device), SK: sk}
}

func (id *recordID) item(at time.Time) store.Item {
	return store.Item{Key: id.key(), Attrs: map[string]varve.Value{attrLastSeen: registry.TimeValue(at)}}
}

// firstItem returns the item that a first reading creates. It is the device with the last-seen
// time of its first minute, or its last-seen record in a stream.
func (id *recordID) firstItem(at time.Time) store.Item {
	if id.stream != "" {
		return id.item(at)
	}
	d := Device{Tenant: id.tenant, Device: id.device, Status: Active, CreatedAt: at, UpdatedAt: at, LastSeenAt: at}
	return d.item()
}

func lastSeenOf(it *store.Item) (time.Time, error) {
	a := registry.NewReader(it)
	at := a.Time(attrLastSeen)
	return at, a.Err()
}

// StreamFilter selects the series whose last-seen times are recorded by stream. It maps streams
// to devices, where "" means all devices. If nil, it selects none.
type StreamFilter map[string]map[string]struct{}

// Add selects a device in a stream, or all devices if the argument "device" is empty.
func (f StreamFilter) Add(stream, device string) {
	if f[stream] == nil {
		f[stream] = map[string]struct{}{}
	}
	f[stream][device] = struct{}{}
}

func (f StreamFilter) includes(s *varve.Series) bool {
	devices := f[s.Stream]
	if len(devices) == 0 {
		return false
	}
	if _, all := devices[""]; all {
		return true
	}
	_, one := devices[s.Device]
	return one
}
