package api

import (
	"encoding/json"
	"net/http"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
)

// seesTables reports whether a request may learn which tables there are. Tenants
// share them: by the tables that hold something, one tenant would see when another
// has readings of. So only keys of the deployment's own tenant may.
func seesTables(r *http.Request) bool { return grantOf(r.Context()).Tenant == varve.DefaultTenant }

// coverage returns the coverage as JSON; nil: it is not for those who ask.
func coverage(r *http.Request, c query.Coverage) ([]byte, error) {
	if !seesTables(r) {
		return nil, nil
	}
	return json.Marshal(listed(c))
}

// shortCoverage returns one that has room in a trailer.
func shortCoverage(r *http.Request, c query.Coverage) ([]byte, error) {
	return coverage(r, shortened(c))
}

// trailerTables is how many tables the coverage in a trailer names of each kind:
// clients take trailers of up to 4 KB.
const trailerTables = 12

// shortened returns a coverage that has room in a trailer.
func shortened(c query.Coverage) query.Coverage {
	if n := len(c.Read); n > trailerTables {
		c.Read, c.MoreRead = c.Read[:trailerTables], n-trailerTables
	}
	if n := len(c.Expired); n > trailerTables {
		c.Expired, c.MoreExpired = c.Expired[:trailerTables], n-trailerTables
	}
	c.Missing = c.Missing[:min(len(c.Missing), trailerTables)]
	return c
}

// listed makes empty lists of missing ones, so that a client finds all four.
func listed(c query.Coverage) query.Coverage {
	for _, l := range []*[]string{&c.Read, &c.Expired, &c.Missing, &c.Failed} {
		if *l == nil {
			*l = []string{}
		}
	}
	return c
}
