package apikeys

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
)

// Grant is what a valid key allows. Those of one key share its rate.
type Grant struct {
	ID     string
	Tenant string
	Scopes Scopes
	Rate   Rate
	Ends   time.Time // zero: never

	requests, readings *rate.Limiter // nil: no bound
}

// Everything is the grant of everybody while there are no keys.
func Everything() *Grant { return &Grant{Tenant: varve.DefaultTenant, Scopes: Read | Write | Admin} }

// Operates reports whether the grant is one of the deployment's own tenant, and
// has a scope there.
func (g *Grant) Operates(scope Scopes) bool {
	return g.Tenant == varve.DefaultTenant && g.Scopes.Has(scope)
}

// Request takes one request off the key's rate; more than 0 is how long to wait
// before it is tried again.
func (g *Grant) Request(now time.Time) time.Duration {
	if g.requests == nil || g.requests.AllowN(now, 1) {
		return 0
	}
	return g.wait(g.requests, now)
}

// Write says how long to wait before readings may be sent: 0 unless those sent
// before were too many.
func (g *Grant) Write(now time.Time) time.Duration {
	if g.readings == nil || g.readings.TokensAt(now) >= 1 {
		return 0
	}
	return g.wait(g.readings, now)
}

// Begin takes the first readings of a body off the key's rate, unless those sent
// before were too many: more than 0 is how long to wait then. Bodies that were let
// in at one time, and then held back, are not all taken.
func (g *Grant) Begin(now time.Time, n int) time.Duration {
	if g.readings == nil {
		return 0
	}
	if !g.readings.AllowN(now, 1) {
		return g.wait(g.readings, now)
	}
	g.Readings(now, n-1)
	return 0
}

// Readings takes readings off the key's rate. They may be more than there is
// room for: what is too much, later writes wait for. So a body of any length is
// taken whole, or not at all.
func (g *Grant) Readings(now time.Time, n int) {
	if g.readings == nil {
		return
	}
	for burst := g.readings.Burst(); n > 0; n -= burst {
		g.readings.ReserveN(now, min(n, burst))
	}
}

// wait is how long it takes until there is room for one.
func (g *Grant) wait(l *rate.Limiter, now time.Time) time.Duration {
	short := max(0, 1-l.TokensAt(now))
	return max(time.Millisecond, time.Duration(short/float64(l.Limit())*float64(time.Second)))
}
