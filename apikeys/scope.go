package apikeys

import (
	"strings"

	"github.com/varvedb/varve"
)

// Scopes is a set of rights.
type Scopes uint8

// Scopes of API keys.
const (
	Read  Scopes = 1 << iota // read the tenant's data
	Write                    // send readings, and nothing else
	Admin                    // Read and Write, and manage the tenant's keys; in varve.DefaultTenant, manage the deployment, too
)

// scopeNames lists the scopes in the order of String.
var scopeNames = []struct {
	scope Scopes
	name  string
}{{Read, "read"}, {Write, "write"}, {Admin, "admin"}}

// ScopeNames returns the words that ParseScopes accepts.
func ScopeNames() (names []string) {
	for _, s := range scopeNames {
		names = append(names, s.name)
	}
	return names
}

// ParseScopes returns the set of the named scopes. It fails with Invalid for an unknown name.
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

// String returns the names of the scopes, separated by commas.
func (s Scopes) String() string { return strings.Join(s.Names(), ",") }

// Has reports whether the set allows a scope. Admin allows all of them.
func (s Scopes) Has(scope Scopes) bool { return s&(scope|Admin) != 0 }
