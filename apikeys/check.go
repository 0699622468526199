package apikeys

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
)

// cacheFor is how long a key is taken from memory.
const cacheFor = 10 * time.Second

// lookupWithin is how long a look into the registry may take. It goes on for
// others when the request that began it has gone.
const lookupWithin = 5 * time.Second

// Bounds of what is kept in memory.
const (
	maxKnown   = 1 << 14
	maxUnknown = 1 << 12
)

// Looking for keys that there are none of is bounded, so that guessing does not
// reach the store. Keys that there are do not count.
const (
	guessesPerSecond = 50
	guessesAtOnce    = 500
)

// ErrNone means that a text is no valid key: none at all, wrong, expired or
// revoked. Which of them is nobody's business.
var ErrNone = errors.New("no valid key")

// entry is a key in memory.
type entry struct {
	stored
	grant Grant
	read  time.Time
}

// nobody is compared with where there is no key, so that it takes as long.
var nobody entry

// Check returns what a key's text allows. It fails with ErrNone; or with Busy,
// while too many keys are tried that there are none of, for any that is not valid
// or that this process has not seen; or with the store's error.
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
	return &e.grant, nil
}

// refusal is the answer to a text that is no valid key: the same whether its id
// is known or not, also while ids that are not known are not looked for.
func (r *Registry) refusal(now time.Time) error {
	if r.guesses.TokensAt(now) >= 1 {
		return ErrNone
	}
	return errGuessing
}

var errGuessing = &varve.Error{Failure: varve.Busy, RetryAfter: time.Second,
	Message: "too many keys are tried that there are none of: if yours is one, try again"}

// fresh reports whether what was read then may be believed now.
func fresh(read, now time.Time) bool {
	age := now.Sub(read)
	return age >= 0 && age < cacheFor
}

// entry returns what is known of an id, nobody if there is no such key.
func (r *Registry) entry(ctx context.Context, id string, now time.Time) (*entry, error) {
	r.mu.RLock()
	e, known := r.known[id]
	missed, missing := r.unknown[id]
	r.mu.RUnlock()
	switch {
	case known && fresh(e.read, now):
		return e, nil
	case missing && fresh(missed, now):
		return &nobody, nil
	case !known && r.guesses.TokensAt(now) < 1:
		return nil, errGuessing
	}
	found, err, _ := r.flight.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupWithin)
		defer cancel()
		return r.look(ctx, id)
	})
	if err != nil {
		return nil, err
	}
	return found.(*entry), nil
}

// look reads a key, and remembers what it finds, unless a key was changed here
// meanwhile.
func (r *Registry) look(ctx context.Context, id string) (*entry, error) {
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
		return &nobody, nil
	}
	if r.changes != changes {
		begin = time.Time{} // good for who asked before the change, and for nobody after
	}
	return r.remember(s, begin), nil
}

// remember keeps a key in memory, with what is left of its rate. It is called
// with the lock held.
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

// changed takes in what this process has changed of a key. Looks that are under
// way may have seen it as it was: nobody who comes from now on gets to see that.
func (r *Registry) changed(s *stored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	r.flight.Forget(s.ID)
	delete(r.unknown, s.ID)
	r.remember(s, r.now())
}

// newLimit returns a limiter that lets a second's worth through at once; nil for
// no bound.
func newLimit(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}
