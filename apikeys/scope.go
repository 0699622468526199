package apikeys

import (
	"strings"

	"github.com/varvedb/varve"
)

// Scopes are a set of things that a key may do.
type Scopes uint8

// The scopes.
const (
	Read  Scopes = 1 << iota // read the tenant's data
	Write                    // send readings, and nothing else
	Admin                    // both, and the tenant's keys; of varve.DefaultTenant, the deployment
)

// scopeNames are in the order in which they are written.
var scopeNames = []struct {
	scope Scopes
	name  string
}{{Read, "read"}, {Write, "write"}, {Admin, "admin"}}

// ScopeNames are the words that ParseScopes reads.
func ScopeNames() (names []string) {
	for _, s := range scopeNames {
		names = append(names, s.name)
	}
	return names
}

// ParseScopes reads the names of scopes.
func ParseScopes(names ...string) (all Scopes, err error) {
	for _, name := range names {
		var one Scopes
		for _, s := range scopeNames {
			if s.name == name {
				one = s.scope
			}
		}
		if one == 0 {
			return 0, varve.InvalidParam("scopes", "scope %q is unknown: use read, write or admin, or read and write", name)
		}
		all |= one
	}
	return all, nil
}

// Names returns the names of the scopes in the set.
func (s Scopes) Names() (names []string) {
	for _, n := range scopeNames {
		if s&n.scope != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// String writes the names, separated by commas.
func (s Scopes) String() string { return strings.Join(s.Names(), ",") }

// Has reports whether the set allows a scope. Admin allows all of them.
func (s Scopes) Has(scope Scopes) bool { return s&(scope|Admin) != 0 }
