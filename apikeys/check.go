package apikeys

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
)

// cacheFor is the time for which a cached key, or the cached absence of a key, is used.
const cacheFor = 10 * time.Second

// lookupTimeout bounds a read of the registry. The read does not end with the request that began
// it, because other requests may wait for the result.
const lookupTimeout = 5 * time.Second

// Maximum numbers of keys, and of ids without a key, in the cache.
const (
	maxKnown   = 1 << 14
	maxUnknown = 1 << 12
)

// Reads of unknown keys are limited, so that guesses do not overload the store. Reads of valid keys are not
// counted.
const (
	guessesPerSecond = 50
	guessesAtOnce    = 500
)

// ErrNone reports that a text is not a valid key. It does not distinguish wrong,
// expired and revoked keys.
var ErrNone = errors.New("no valid key")

type entry struct {
	stored
	grant Grant
	read  time.Time
}

// placeholder is used in place of the key of an unknown id, so that the check takes as long as for a
// known one.
var placeholder entry

// Check returns the grant of a key's text. It fails with one of:
//
//   - ErrNone: the text is not a valid key
//   - Busy: too many unknown keys were tried, and the cache has no valid key for the text
//   - the error of the store
func (r *Registry) Check(ctx context.Context, text string) (*Grant, error) {
	id, ok := idOf(text)
	if !ok {
		return nil, ErrNone
	}
	now := r.now()
	hash := hashOf(text)
	e, err := r.entry(ctx, id, now)
	if err != nil {
		return nil, err
	}
	same := subtle.ConstantTimeCompare(hash[:], e.hash[:]) == 1
	if !same || e.StateAt(now) != Active {
		return nil, r.refusal(now)
	}
	r.used.touch(id, now)
	return &e.grant, nil
}

// refusal returns the error for an invalid key. It is the same for known and unknown ids, even
// while reads of unknown ids are refused.
func (r *Registry) refusal(now time.Time) error {
	if r.guesses.TokensAt(now) >= 1 {
		return ErrNone
	}
	return errGuessing
}

var errGuessing = &varve.Error{Failure: varve.Busy, RetryAfter: time.Second,
	Message: "too many invalid API keys: retry in a second"}

// fresh reports whether an entry that was read at a given time may still be used.
func fresh(read, now time.Time) bool {
	age := now.Sub(read)
	return age >= 0 && age < cacheFor
}

// entry returns the entry of an id, or the placeholder if the key does not exist.
func (r *Registry) entry(ctx context.Context, id string, now time.Time) (*entry, error) {
	r.mu.RLock()
	e, known := r.known[id]
	missed, missing := r.unknown[id]
	r.mu.RUnlock()
	switch {
	case known && fresh(e.read, now):
		return e, nil
	case missing && fresh(missed, now):
		return &placeholder, nil
	case !known && r.guesses.TokensAt(now) < 1:
		return nil, errGuessing
	}
	found, err, _ := r.flight.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		return r.lookUp(ctx, id)
	})
	if err != nil {
		return nil, err
	}
	return found.(*entry), nil
}

// lookUp reads a key and caches the result, unless this process changed a key meanwhile.
func (r *Registry) lookUp(ctx context.Context, id string) (*entry, error) {
	r.mu.RLock()
	changes := r.changes
	r.mu.RUnlock()
	begin := r.now()
	s, err := r.read(ctx, id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == nil {
		r.guesses.AllowN(begin, 1)
		delete(r.known, id)
		if r.changes == changes {
			if len(r.unknown) >= maxUnknown {
				clear(r.unknown)
			}
			r.unknown[id] = begin
		}
		return &placeholder, nil
	}
	if r.changes != changes {
		begin = time.Time{} // not cached, because the result may be older than the change
	}
	return r.remember(s, begin), nil
}

// remember returns an entry for a key, and adds it to the cache unless the argument "read" is the zero
// time. If the key is cached with the same rate, the new entry uses the same limiters. The caller
// holds the lock.
func (r *Registry) remember(s *stored, read time.Time) *entry {
	e := &entry{stored: *s, read: read}
	e.grant = Grant{ID: s.ID, Tenant: s.Tenant, Scopes: s.Scopes, Rate: s.Rate, Ends: s.Expires}
	if old := r.known[s.ID]; old != nil && old.Rate == s.Rate {
		e.grant.requests, e.grant.readings = old.grant.requests, old.grant.readings
	} else {
		e.grant.requests, e.grant.readings = newLimit(s.Rate.Requests), newLimit(s.Rate.Readings)
	}
	if read.IsZero() {
		return e
	}
	for other := range r.known {
		if len(r.known) < maxKnown {
			break
		}
		delete(r.known, other)
	}
	r.known[s.ID] = e
	return e
}

// changed caches a key that this process has changed. Reads that are in flight may return the old
// key; no later request uses their result.
func (r *Registry) changed(s *stored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	r.flight.Forget(s.ID)
	delete(r.unknown, s.ID)
	r.remember(s, r.now())
}

// newLimit returns a limiter whose burst is the number of events that are allowed per second, and
// at least 1. If perSecond is 0, events are not limited, and newLimit returns nil.
func newLimit(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}
