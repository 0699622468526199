package apikeys

import (
	"cmp"
	"fmt"
	"math"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/varvedb/varve"
)

// Key is an API key without its secret.
type Key struct {
	ID      string
	Tenant  string
	Name    string // description for people
	Scopes  Scopes
	Rate    Rate
	Created time.Time
	Expires time.Time // the zero time means never
	Revoked time.Time // the zero time means not revoked
	// Used is the last use, to the minute. List sets it. The zero time means that no use is known.
	Used time.Time
}

// State is the current state of a key.
type State string

// The states of a key.
const (
	Active  State = "active"
	Expired State = "expired"
	Revoked State = "revoked"
)

// StateAt returns the key's state at a time.
func (k *Key) StateAt(now time.Time) State {
	switch {
	case !k.Revoked.IsZero():
		return Revoked
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return Expired
	default:
		return Active
	}
}

// Rate limits the use of a key in one process; 0 means no limit.
type Rate struct {
	Requests float64 // requests per second
	Readings float64 // submitted readings per second
}

// Draft describes a key to create.
type Draft struct {
	Tenant  string // "" means varve.DefaultTenant
	Name    string
	Scopes  Scopes
	Rate    Rate
	Expires time.Time // the zero time means never
}

const maxKeyNameBytes = 100

// Check returns an Invalid error that names the parameter at fault, if the draft is invalid.
func (d *Draft) Check(now time.Time) error {
	if err := varve.ValidateName("tenant", cmp.Or(d.Tenant, varve.DefaultTenant)); err != nil {
		return varve.InvalidParam("tenant", "%s", err)
	}
	switch {
	case d.Scopes == 0:
		return varve.InvalidParam("scopes", "no scope is given: use read, write or admin, or read and write")
	case len(d.Name) > maxKeyNameBytes:
		return varve.InvalidParam("name", "the name has %d bytes, the limit is %d", len(d.Name), maxKeyNameBytes)
	case !printable(d.Name):
		return varve.InvalidParam("name", "the name has a character that cannot be printed")
	case !d.Expires.IsZero() && !d.Expires.After(now):
		return varve.InvalidParam("expires", "%s is in the past: use a later time, or none for never", d.Expires.UTC().Format(time.RFC3339))
	case !d.Expires.IsZero() && d.Expires.UTC().Year() > 9999:
		return varve.InvalidParam("expires", "the year %d is too far away: leave it out for never", d.Expires.UTC().Year())
	}
	if err := checkRate("requests_per_second", d.Rate.Requests); err != nil {
		return err
	}
	return checkRate("readings_per_second", d.Rate.Readings)
}

// Under limits the rate and the end of a draft by the grant of the key that creates it. Missing rates
// and a missing end are set to the values of the grant. Under fails if a rate is higher than in the
// grant, or if the end is later.
func (d *Draft) Under(g *Grant) error {
	for _, r := range []struct {
		param      string
		own, bound *float64
	}{
		{"requests_per_second", &d.Rate.Requests, &g.Rate.Requests}, {"readings_per_second", &d.Rate.Readings, &g.Rate.Readings},
	} {
		switch {
		case *r.bound == 0:
		case *r.own == 0:
			*r.own = *r.bound
		case *r.own > *r.bound:
			return varve.InvalidParam(r.param, "%g is more than the %g of the key that makes it", *r.own, *r.bound)
		}
	}
	switch {
	case g.Ends.IsZero():
	case d.Expires.IsZero():
		d.Expires = g.Ends
	case d.Expires.After(g.Ends):
		return varve.InvalidParam("expires", "%s is after the end of the key that makes it, %s", d.Expires.UTC().Format(time.RFC3339), g.Ends.UTC().Format(time.RFC3339))
	}
	return nil
}

// CheckFirst rejects a draft that is not allowed for the first key of a deployment.
func (d *Draft) CheckFirst() error {
	if d.Scopes&Admin == 0 || cmp.Or(d.Tenant, varve.DefaultTenant) != varve.DefaultTenant {
		return varve.InvalidParam("scopes", "the first key must be an admin key of tenant %s: create it with varve keys create --scope admin; from then on, every request needs a key", varve.DefaultTenant)
	}
	return nil
}

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// Limits of a rate, in events per second. The lower one is one event an hour.
const (
	leastRate = 1.0 / 3600
	mostRate  = 1e9
)

func checkRate(param string, perSecond float64) error {
	if perSecond == 0 || perSecond >= leastRate && perSecond <= mostRate {
		return nil
	}
	why := fmt.Sprintf("a rate of %g a second is not from 1/3600 to %g; 0 means no limit", perSecond, mostRate)
	if math.IsNaN(perSecond) {
		why = "the rate is not a number"
	}
	return varve.InvalidParam(param, "%s", why)
}
