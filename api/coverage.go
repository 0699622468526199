package api

import (
	"net/http"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// seesTables reports whether a request may see the list of tables. Tenants share tables, so the
// list would reveal to a tenant when others have readings. Only requests with a grant of
// varve.DefaultTenant may see it.
func seesTables(r *http.Request) bool { return grantOf(r.Context()).Tenant == varve.DefaultTenant }

// coverage returns the coverage as JSON. If the request may not see tables, the result has only the
// damaged rows, the expiry, the time of as_of and the number of missing tables. It has no names and
// no other numbers of tables. If the coverage has none of these four, the result is nil.
func coverage(r *http.Request, c query.Coverage) ([]byte, error) {
	if !seesTables(r) {
		expiry := ownExpiry(c.Expiry)
		asOf := ownAsOf(c.AsOf)
		missing := len(c.Missing) + c.MoreMissing
		if len(c.Damaged) == 0 && expiry == nil && asOf == nil && missing == 0 {
			return nil, nil
		}
		c = query.Coverage{Damaged: slices.Clone(c.Damaged), MoreDamaged: c.MoreDamaged, Expiry: expiry, AsOf: asOf, MoreMissing: missing}
		for i := range c.Damaged {
			c.Damaged[i].Table = ""
		}
	}
	return wire.MarshalJSON(listed(c))
}

// ownExpiry returns the expiry without the number of tables. It returns nil if no reading was omitted.
func ownExpiry(x *query.Expiry) *query.Expiry {
	if x == nil || x.Readings == 0 {
		return nil
	}
	own := *x
	own.Tables = 0
	return &own
}

// ownAsOf returns the part of a coverage about as_of, without the number of tables. For nil, it returns
// nil.
func ownAsOf(a *query.AsOf) *query.AsOf {
	if a == nil {
		return nil
	}
	own := *a
	own.LaterTables = 0
	return &own
}

// shortCoverage returns the coverage as JSON that is short enough for a trailer.
func shortCoverage(r *http.Request, c query.Coverage) ([]byte, error) {
	return coverage(r, shortened(c))
}

// trailerTables is the maximum number of tables in each list of the coverage in a trailer. Some HTTP
// clients, such as Go's, accept at most 4 KB of trailers.
const trailerTables = 12

// trailerRows is the maximum number of damaged rows in the coverage of a trailer. It is smaller
// than trailerTables, because the keys of rows are longer than the names of tables.
const trailerRows = 3

// shortened returns a part of a coverage that fits into a trailer.
func shortened(c query.Coverage) query.Coverage {
	for _, l := range []struct {
		list *[]string
		more *int
	}{{&c.Read, &c.MoreRead}, {&c.Expired, &c.MoreExpired}, {&c.Archived, &c.MoreArchived}, {&c.Missing, &c.MoreMissing}, {&c.Failed, &c.MoreFailed}} {
		if n := len(*l.list); n > trailerTables {
			*l.list, *l.more = (*l.list)[:trailerTables], *l.more+n-trailerTables
		}
	}
	if n := len(c.Damaged); n > trailerRows {
		c.Damaged, c.MoreDamaged = c.Damaged[:trailerRows], c.MoreDamaged+n-trailerRows
	}
	return c
}

// listed replaces nil lists with empty ones, so that clients always find the properties "read",
// "expired", "missing" and "failed".
func listed(c query.Coverage) query.Coverage {
	for _, l := range []*[]string{&c.Read, &c.Expired, &c.Missing, &c.Failed} {
		if *l == nil {
			*l = []string{}
		}
	}
	return c
}
