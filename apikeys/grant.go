package apikeys

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
)

// Grant has the rights of a valid key. All grants of one key share its rate.
type Grant struct {
	ID     string
	Tenant string
	Scopes Scopes
	Rate   Rate
	Ends   time.Time // when the key expires; the zero time means never

	requests, readings *rate.Limiter // limiters of the key's rate; nil means no limit
	admitted           bool          // whether the rate of readings has admitted the body
}

// Everything returns the grant that all requests have until the first key is created.
func Everything() *Grant { return &Grant{Tenant: varve.DefaultTenant, Scopes: Read | Write | Admin} }

// Operates reports whether the grant is for varve.DefaultTenant and allows a scope.
func (g *Grant) Operates(scope Scopes) bool {
	return g.Tenant == varve.DefaultTenant && g.Scopes.Has(scope)
}

// Request subtracts one request from the key's rate. If the rate is exceeded, it subtracts nothing
// and returns the time to wait.
func (g *Grant) Request(now time.Time) time.Duration {
	if g.requests == nil || g.requests.AllowN(now, 1) {
		return 0
	}
	return g.wait(g.requests, now)
}

// Admitted returns the grant for the rest of a body that Begin has admitted. Its readings are subtracted
// from the key's rate without a wait.
func (g *Grant) Admitted() *Grant {
	rest := *g
	rest.admitted = true
	return &rest
}

// Write returns the time to wait before readings may be written. It is 0 unless
// earlier readings used up the rate.
func (g *Grant) Write(now time.Time) time.Duration {
	if g.readings == nil || g.admitted || g.readings.TokensAt(now) >= 1 {
		return 0
	}
	return g.wait(g.readings, now)
}

// Begin subtracts the first readings of a body from the key's rate. If earlier readings used up
// the rate, it subtracts nothing and returns the time to wait. So the rate also limits how many
// concurrent bodies are admitted.
func (g *Grant) Begin(now time.Time, n int) time.Duration {
	if g.readings == nil {
		return 0
	}
	if g.admitted {
		g.Readings(now, n)
		return 0
	}
	if !g.readings.AllowN(now, 1) {
		return g.wait(g.readings, now)
	}
	g.Readings(now, n-1)
	return 0
}

// Readings subtracts readings from the key's rate. They may exceed the rate: later writes wait for
// the excess. So a body of any length is accepted whole, or not at all.
func (g *Grant) Readings(now time.Time, n int) {
	if g.readings == nil {
		return
	}
	for burst := g.readings.Burst(); n > 0; n -= burst {
		g.readings.ReserveN(now, min(n, burst))
	}
}

// TooFast returns the error for an exceeded rate of a key. The first argument is "requests" or
// "readings".
func TooFast(of string, wait time.Duration) error {
	return &varve.Error{Failure: varve.Busy, RetryAfter: wait,
		Message: fmt.Sprintf("this key's rate of %s is used up: try again in %s", of, wait.Round(time.Millisecond))}
}

// wait returns the time until the limiter allows one more event.
func (g *Grant) wait(l *rate.Limiter, now time.Time) time.Duration {
	short := max(0, 1-l.TokensAt(now))
	return max(time.Millisecond, time.Duration(short/float64(l.Limit())*float64(time.Second)))
}
