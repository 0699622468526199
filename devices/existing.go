package devices

import (
	"strings"
	"sync"
	"time"
)

// A poll for the readings of a device must fail if the device does not exist. On DynamoDB, a lookup for each
// poll would cost as much as the poll. So the registry remembers devices that exist. In the background, it
// rereads the devices that polls use.

const (
	// existsFor is how long a device is remembered as existing, unless it is reread.
	existsFor = time.Minute
	// rereadAfter is the age from which RefreshExisting rereads a device, if Exists has used it within
	// rereadWithin.
	rereadAfter  = existsFor / 2
	rereadWithin = 10 * time.Minute
	// maxExisting is the maximum number of remembered devices. One more replaces a random one.
	maxExisting = 10_000
)

// existing has devices that were found to exist.
type existing struct {
	mu      sync.Mutex
	found   map[deviceID]finding
	forgets int // number of calls of forget
}

// finding has the time at which a device was found, and the time at which Exists last used the finding.
type finding struct{ at, used time.Time }

func (f finding) isValid(now time.Time) bool {
	age := now.Sub(f.at)
	return age >= 0 && age < existsFor
}

// use reports whether a device is remembered, and marks it as used. It also returns the number of calls of forget.
func (e *existing) use(id deviceID, now time.Time) (ok bool, forgets int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.found[id]
	if ok = f.isValid(now); ok {
		f.used = now
		e.found[id] = f
	}
	return ok, e.forgets
}

// add remembers a device that was read after the given number of calls of forget. It does nothing if forget
// has been called since.
func (e *existing) add(id deviceID, now time.Time, forgets int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.forgets != forgets {
		return
	}
	for other := range e.found {
		if len(e.found) < maxExisting {
			break
		}
		delete(e.found, other)
	}
	// The names may share the memory of a request.
	e.found[deviceID{strings.Clone(id.tenant), strings.Clone(id.device)}] = finding{now, now}
}

// old returns the devices that must be reread, by tenant, and the number of calls of forget. It removes the
// devices that were not used recently.
func (e *existing) old(now time.Time) (old map[string][]string, forgets int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old = map[string][]string{}
	for id, f := range e.found {
		switch {
		case now.Sub(f.used) > rereadWithin || now.Before(f.at):
			delete(e.found, id)
		case now.Sub(f.at) >= rereadAfter:
			old[id.tenant] = append(old[id.tenant], id.device)
		}
	}
	return old, e.forgets
}

// refresh removes the devices that are missing, and remembers the other ones for another minute. If forget has been
// called since the devices were read, it only removes.
func (e *existing) refresh(tenant string, names, missing []string, now time.Time, forgets int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range missing {
		delete(e.found, deviceID{tenant, name})
	}
	if e.forgets != forgets {
		return
	}
	for _, name := range names {
		id := deviceID{tenant, name}
		if f, ok := e.found[id]; ok {
			e.found[id] = finding{now, f.used}
		}
	}
}

// forget removes a device that was deleted. Reads that have begun are not remembered.
func (e *existing) forget(id deviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgets++
	delete(e.found, id)
}
