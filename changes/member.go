package changes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// member is the record of a process that writes readings with change markers.
type member struct {
	name string
	// from is at or before the arrivals of all writes of the process that are running or begin
	// later.
	from time.Time
	// horizon is at or after all settled times that the process has returned.
	horizon time.Time
	// until is the end of the lease. After it, the process begins no write.
	until time.Time
	// ends is the time after which no write of the process can add a reading, if the lease is not extended.
	ends time.Time
}

// Attributes of a member. It also has attrUntil and attrFrom, which other records have, too.
const (
	attrHorizon = "horizon"
	attrEnds    = "ends"
)

const (
	clusterPrefix = "SHARED#"
	memberPrefix  = clusterPrefix + "WRITER#"
)

// The keys of two items: the horizon of ended members, and the epoch of the cluster.
var (
	endedKey = store.Key{PK: partition, SK: clusterPrefix + "ENDED"}
	epochKey = store.Key{PK: partition, SK: clusterPrefix + "EPOCH"}
)

func memberKey(name string) store.Key { return store.Key{PK: partition, SK: memberPrefix + name} }

func (m *member) item() store.Item {
	return store.Item{Key: memberKey(m.name), Attrs: map[string]varve.Value{
		attrFrom: registry.TimeValue(m.from), attrHorizon: registry.TimeValue(m.horizon),
		attrUntil: registry.TimeValue(m.until), attrEnds: registry.TimeValue(m.ends),
	}}
}

// roster is the state of all members, from one query.
type roster struct {
	members []member
	epoch   Epoch
	ended   time.Time // at or after all settled times that a member without a record has returned
}

// readRoster reads the records of all members and the epoch, page by page, with consistent reads.
func readRoster(ctx context.Context, items store.Items) (ro roster, err error) {
	q := store.ItemQuery{PK: partition, From: clusterPrefix, To: store.PrefixEnd(clusterPrefix), Consistent: true}
	for it, err := range registry.All(ctx, items, q) {
		if err != nil {
			return ro, fmt.Errorf("read the settled time: %w", err)
		}
		r := registry.NewReader(it)
		switch name, isMember := strings.CutPrefix(it.SK, memberPrefix); {
		case isMember:
			ro.members = append(ro.members, member{
				name: strings.Clone(name), from: r.Time(attrFrom), horizon: r.Time(attrHorizon), until: r.Time(attrUntil), ends: r.Time(attrEnds),
			})
		case it.SK == epochKey.SK:
			ro.epoch = decodeEpoch(it, r)
		case it.SK == endedKey.SK:
			ro.ended = r.Time(attrUntil)
		}
		if err := r.Err(); err != nil {
			return ro, err
		}
	}
	return ro, nil
}

// readReturned returns a time at or after all settled times that members returned before the call,
// except for members that stored no record yet.
//
// Before the record of a member is deleted, its horizon is stored in the item of ended members. So
// that item is read after the records.
func readReturned(ctx context.Context, items store.Items) (ro roster, returned time.Time, err error) {
	if ro, err = readRoster(ctx, items); err != nil {
		return ro, returned, err
	}
	found, err := items.Get(ctx, []store.Key{endedKey}, true)
	if err != nil {
		return ro, returned, fmt.Errorf("read the settled time: %w", err)
	}
	if len(found) > 0 {
		r := registry.NewReader(&found[0])
		if returned, err = r.Time(attrUntil), r.Err(); err != nil {
			return ro, returned, err
		}
	}
	for i := range ro.members {
		returned = later(returned, ro.members[i].horizon)
	}
	return ro, returned, nil
}

// oldest returns the earliest time from which a member other than the named one may still write, or the
// given time if that is earlier.
func (ro *roster) oldest(at time.Time, except string) time.Time {
	for i := range ro.members {
		if m := &ro.members[i]; m.name != except && m.from.Before(at) {
			at = m.from
		}
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
