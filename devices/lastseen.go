package devices

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve"
)

// lastSeen has the devices that sent readings in the current minute, and the records that must still be
// written. Only the first reading of a device or a series in a minute changes them. Every other reading
// costs only lookups in maps.
type lastSeen struct {
	mu         sync.RWMutex
	minute     int64                  // the current minute, in minutes since 1970
	touched    map[string]touched     // by tenant, the records that readings of the current minute have touched
	pending    map[recordID]time.Time // records to be written, with their times
	registered registered
	wake       chan struct{}
}

// touched has the records of a tenant's devices that sent readings in the current minute.
type touched struct {
	devices map[string]struct{}
	series  map[recordID]struct{} // records for single streams that the StreamFilter includes
}

// written is true if a record was written with the current time.
type written bool

func newLastSeen() lastSeen {
	return lastSeen{touched: map[string]touched{}, pending: map[recordID]time.Time{}, registered: registered{}, wake: make(chan struct{}, 1)}
}

// untouched returns the records that readings of one tenant touch for the first time in this
// minute. A record may occur several times. The names in the records share the memory of the
// readings.
func (s *lastSeen) untouched(now time.Time, tenant string, filter StreamFilter, readings []varve.Reading, verdicts []varve.Verdict) (fresh []recordID) {
	minute := now.Unix() / 60
	var last varve.Series
	s.mu.RLock()
	defer s.mu.RUnlock()
	expired := s.expired(minute)
	was := s.touched[tenant]
	for i := range readings {
		r := &readings[i]
		if !verdicts[i].HasStored() || r.Device == last.Device && (len(filter) == 0 || r.Stream == last.Stream) {
			continue
		}
		last = r.Series
		id := recordID{deviceID: deviceID{tenant, r.Device}}
		if _, ok := was.devices[r.Device]; expired || !ok {
			fresh = append(fresh, id)
		}
		if len(filter) == 0 || !filter.includes(&r.Series) {
			continue
		}
		id.stream = r.Stream
		if _, ok := was.series[id]; expired || !ok {
			fresh = append(fresh, id)
		}
	}
	return fresh
}

// expired reports whether a minute replaces the current one. The minute before the current one does
// not, because requests from that minute may be late. If the clock was set back further, the
// earlier minute becomes the current one. The caller holds the lock.
func (s *lastSeen) expired(minute int64) bool { return minute > s.minute || minute < s.minute-1 }

// unique returns each record once, with copies of its names. It also returns the records that are
// not known to exist.
func (s *lastSeen) unique(fresh []recordID) (all map[recordID]written, first []recordID) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all = make(map[recordID]written, len(fresh))
	for _, id := range fresh {
		if _, twice := all[id]; twice {
			continue
		}
		id = recordID{deviceID{strings.Clone(id.tenant), strings.Clone(id.device)}, strings.Clone(id.stream)}
		if all[id] = false; !s.registered.has(id) {
			first = append(first, id)
		}
	}
	return all, first
}

// touch marks records as touched in the current minute. A record that was not yet touched in this minute
// becomes pending, unless it was written with the time "now". A request of an earlier minute marks no
// records, because later readings of the current minute must still be recorded.
func (s *lastSeen) touch(now time.Time, records map[recordID]written) {
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := now.Unix() / 60
	if s.expired(minute) {
		s.minute = minute
		clear(s.touched)
	}
	for id, done := range records {
		of := s.touched[id.tenant]
		_, device := of.devices[id.device]
		_, series := of.series[id]
		if device && id.stream == "" || series {
			continue
		}
		if minute == s.minute {
			s.markTouched(id)
		}
		if s.registered.add(id); !bool(done) && now.After(s.pending[id]) {
			s.pending[id] = now
		}
	}
	select {
	case s.wake <- struct{}{}:
	default: // an earlier signal to the writer is still pending
	}
}

// markTouched marks a record as touched in the current minute. The caller holds the lock.
func (s *lastSeen) markTouched(id recordID) {
	of := s.touched[id.tenant]
	if of.devices == nil {
		of = touched{map[string]struct{}{}, map[recordID]struct{}{}}
		s.touched[id.tenant] = of
	}
	if id.stream == "" {
		of.devices[id.device] = struct{}{}
	} else {
		of.series[id] = struct{}{}
	}
}

// forget removes a record. The next reading that touches it counts as the first.
func (s *lastSeen) forget(id recordID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registered.remove(id)
	of := s.touched[id.tenant]
	if delete(of.series, id); id.stream == "" {
		delete(of.devices, id.device)
	}
}

// takePending returns and removes the pending records.
func (s *lastSeen) takePending() map[recordID]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.pending
	s.pending = map[recordID]time.Time{}
	return taken
}

// restorePending makes a record pending again, unless a newer time is pending.
func (s *lastSeen) restorePending(id recordID, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, newer := s.pending[id]; !newer {
		s.pending[id] = at
	}
}

// maxRegistered bounds the number of remembered records, which use about 20 MB. At this number, all
// are forgotten, and the next reading of each device or series costs a request to the store.
const maxRegistered = 1 << 20

// registered has the hashes of records that exist. If two records have the same hash, the second
// one is registered in the background.
type registered map[uint64]struct{}

var registeredSeed = maphash.MakeSeed()

func (k registered) add(id recordID) {
	if len(k) >= maxRegistered {
		clear(k)
	}
	k[maphash.Comparable(registeredSeed, id)] = struct{}{}
}

func (k registered) remove(id recordID) { delete(k, maphash.Comparable(registeredSeed, id)) }

func (k registered) has(id recordID) bool {
	_, ok := k[maphash.Comparable(registeredSeed, id)]
	return ok
}
