package fleet

import (
	"context"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"hash/maphash"
	"strings"
	"time"
)

// A device is registered before its first reading is acknowledged: deadman rules
// look at registered devices only, and a device may be heard of just once. For
// the same reason the record of when it was last seen in a stream that a rule
// names is made before its first reading there is acknowledged. All later ones
// are written afterwards, in the background.

// recorded is whether the registry says of something that it was seen now.
type recorded bool

// maxRegistered bounds how many first readings are remembered: some 20 MB. Beyond
// that, all are forgotten, and each device costs a read of the registry.
const maxRegistered = 1 << 20

// registered holds the hashes of what has an item in the registry. Two with one hash
// are taken for one another: then a device is registered in the background.
type registered map[uint64]struct{}

var registeredSeed = maphash.MakeSeed()

func (k registered) add(o sighting) {
	if len(k) >= maxRegistered {
		clear(k)
	}
	k[maphash.Comparable(registeredSeed, o)] = struct{}{}
}

func (k registered) remove(o sighting) { delete(k, maphash.Comparable(registeredSeed, o)) }

func (k registered) has(o sighting) bool {
	_, ok := k[maphash.Comparable(registeredSeed, o)]
	return ok
}

// seenItem is the last-seen record of a device, in any stream or in one.
func (s *sighting) seenItem(at time.Time) store.Item {
	return store.Item{Key: s.key(), Attrs: map[string]varve.Value{attrSeen: timeValue(at)}}
}

// firstItem is what the registry has after a first reading: the device, whose own
// item says for the first minute when it was seen; or its record in a stream.
func (s *sighting) firstItem(at time.Time) store.Item {
	if s.stream != "" {
		return s.seenItem(at)
	}
	d := Device{Tenant: s.tenant, Device: s.device, Status: Active, CreatedAt: at, UpdatedAt: at, LastSeenAt: at}
	return d.item(1)
}

// register registers a device that was seen.
func (f *Fleet) register(ctx context.Context, s sighting, at time.Time) error {
	return f.opts.Items.Put(ctx, s.firstItem(at), store.IfAbsent())
}

// touch records that readings of one tenant were written at a time. It returns
// when the items of first readings are durable, and rejects for now those whose
// items cannot be written. The rest is written later. An error is that of an
// ended context.
func (f *Fleet) touch(ctx context.Context, now time.Time, tenant string, in listened, readings []varve.Reading, verdicts []varve.Verdict) error {
	fresh := f.seen.fresh(now, tenant, in, readings, verdicts)
	if len(fresh) == 0 {
		return nil
	}
	sightings, first := f.seen.sort(fresh)
	failed := f.registerAll(ctx, now, first, sightings)
	if failed != nil {
		for _, s := range first {
			delete(sightings, s)
		}
	}
	f.seen.mark(now, sightings)
	if failed == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rejectFirst(first, failed, readings, verdicts)
	return nil
}

// sort returns sightings each once, in memory of their own, and those of them
// that are not remembered to have an item.
func (s *seen) sort(fresh []sighting) (all map[sighting]recorded, first []sighting) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all = make(map[sighting]recorded, len(fresh))
	for _, o := range fresh {
		if _, twice := all[o]; twice {
			continue
		}
		o = sighting{owner{strings.Clone(o.tenant), strings.Clone(o.device)}, strings.Clone(o.stream)}
		if all[o] = false; !s.registered.has(o) {
			first = append(first, o)
		}
	}
	return all, first
}

// registerAll writes the items of first readings that are absent, in one go, and
// notes among the sightings which were.
func (f *Fleet) registerAll(ctx context.Context, now time.Time, first []sighting, all map[sighting]recorded) error {
	if len(first) == 0 {
		return nil
	}
	items := make([]store.Item, len(first))
	for i := range first {
		items[i] = first[i].firstItem(now)
	}
	written, err := f.opts.Items.PutAbsent(ctx, items)
	if err != nil {
		return err
	}
	for i, s := range first {
		all[s] = recorded(written[i])
	}
	return nil
}

// rejectFirst rejects for now the readings of what could not be registered.
func rejectFirst(first []sighting, err error, readings []varve.Reading, verdicts []varve.Verdict) {
	failed := make(map[sighting]struct{}, len(first))
	for _, s := range first {
		failed[s] = struct{}{}
	}
	for i := range readings {
		if verdicts[i].Outcome == varve.Rejected {
			continue
		}
		s := sighting{owner: owner{readings[i].Tenant, readings[i].Device}}
		_, device := failed[s]
		s.stream = readings[i].Stream
		if _, series := failed[s]; device || series {
			verdicts[i] = varve.Reject(varve.CodeUnavailable, "the reading is stored, and its device could not be registered: send it again (%s)", err)
		}
	}
}
