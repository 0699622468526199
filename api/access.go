package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
)

// access selects the keys that may use a route.
type access uint8

const (
	operator access = iota // admin keys of varve.DefaultTenant; the zero value, so it also applies to routes without an entry in accesses
	watcher                // keys of varve.DefaultTenant that may read
	admin                  // admin keys
	reader                 // keys that may read
	writer                 // keys that may write
	comparer               // all valid keys; for reads whose answers have no readings
	anyKey                 // all valid keys
	anybody                // no key is needed
)

// accesses maps each route to the keys that may use it. Routes with data about all tenants require
// keys of varve.DefaultTenant.
var accesses = map[string]access{
	"POST /v1/streams/{stream}/readings":                  writer,
	"GET /v1/streams/{stream}/devices/{device}/readings":  reader,
	"GET /v1/streams/{stream}/devices/{device}/latest":    reader,
	"GET /v1/streams/{stream}/latest":                     reader,
	"GET /v1/streams/{stream}/devices/{device}/aggregate": reader,
	"GET /v1/streams/{stream}/aggregate":                  reader,
	"GET /v1/streams/{stream}/devices/{device}/digests":   reader,
	"POST /v1/streams/{stream}/devices/{device}/digests":  comparer, // because senders use it, and their keys may only write
	"GET /v1/receipts/key":                                anyKey,
	changesPattern:                                        reader,
	deviceChangesPattern:                                  reader,
	"GET /v1/streams":                                     reader,
	"GET /v1/streams/{stream}/devices":                    reader,
	"GET /v1/streams/{stream}/series":                     reader,
	"GET /v1/streams/{stream}/counts":                     reader,
	"GET /v1/streams/{stream}/devices/{device}/rollups":   reader,
	"POST /v1/streams/{stream}/devices/{device}/rollups":  admin,

	"PUT /v1/streams/{stream}/devices/{device}/shards": admin,

	"GET /v1/devices":                              reader,
	"GET /v1/device-health":                        reader,
	"PUT /v1/devices/{device}":                     admin,
	"GET /v1/devices/{device}":                     reader,
	"DELETE /v1/devices/{device}":                  admin,
	"GET /v1/devices/{device}/why":                 reader,
	"POST /v1/devices/{device}/logs":               writer,
	"GET /v1/devices/{device}/logs":                reader,
	"GET /v1/operators/{operator}/logs":            reader,
	"GET /v1/supervisors/{supervisor}/escalations": reader,
	"POST /v1/alert-rules":                         admin,
	"GET /v1/alert-rules":                          reader,
	"POST /v1/alert-rules/preview":                 reader,
	"GET /v1/alert-rules/{rule}":                   reader,
	"PUT /v1/alert-rules/{rule}":                   admin,
	"DELETE /v1/alert-rules/{rule}":                admin,
	"POST /v1/alert-rules/{rule}/mute":             admin,
	"DELETE /v1/alert-rules/{rule}/mute":           admin,
	"GET /v1/devices/{device}/alerts":              reader,
	"GET /v1/alerts":                               reader,
	"GET /v1/alerts/{id}":                          reader,
	"GET /v1/alerts/deliveries":                    reader,
	"POST /v1/alerts/resolve":                      writer,
	"POST /v1/alerts/{id}/resolve":                 writer,
	"POST /v1/alerts/{id}/acknowledge":             writer,
	"POST /v1/alerts/{id}/mute":                    writer,
	"DELETE /v1/alerts/{id}/mute":                  writer,

	"GET /v1/rejects":              reader,
	"DELETE /v1/rejects":           admin,
	"POST /v1/rejects/replay":      writer,
	"GET /v1/rejects/{id}":         reader,
	"DELETE /v1/rejects/{id}":      admin,
	"POST /v1/rejects/{id}/replay": writer,

	"GET /v1/tables":                 operator,
	"GET /v1/tables/plan":            operator,
	"GET /v1/tables/{name}/arrivals": operator,
	"GET /v1/tables/calendar":        operator,
	"POST /v1/tables/calendar":       operator,
	"POST /v1/tables/apply":          operator,
	"POST /v1/tables/{name}/restore": operator,
	"PUT /v1/tables/{name}/hold":     operator,
	"DELETE /v1/tables/{name}/hold":  operator,

	"GET /v1/archives":                    operator,
	"POST /v1/archives/{name}":            operator,
	"POST /v1/archives/{name}/verify":     operator,
	"POST /v1/archives/{name}/restore":    operator,
	"GET /v1/archives/{name}/accept-plan": operator,
	"POST /v1/archives/{name}/accept":     operator,
	"PUT /v1/archives/{name}/hold":        operator,
	"DELETE /v1/archives/{name}/hold":     operator,

	"GET /v1/devices/{device}/erasure-plan": operator,
	"POST /v1/devices/{device}/erasures":    operator,
	"GET /v1/erasures":                      operator,
	"GET /v1/erasures/{id}":                 operator,

	"POST /v1/verify":    operator,
	"POST /v1/snapshots": operator,
	"GET /v1/settings":   operator,

	"POST /v1/aws/firehose":     writer,
	"POST /v1/aws/iot/{stream}": writer,
	"POST /v1/aws/iot":          anybody,
	"POST /v1/aws/iot/{$}":      anybody,
	"GET /v1/mqtt":              watcher,

	"POST /v1/readings":     writer,
	"POST /write":           writer,
	"POST /api/v2/write":    writer,
	"POST /api/v3/write_lp": writer,
	"GET /query":            writer,
	"POST /query":           writer,
	"GET /ping":             anybody,
	"GET /health":           anybody,
	"GET /ready":            anybody,
	"GET /api/v2/ready":     anybody,

	"GET /v1/arrivals":                           reader,
	"GET /v1/grant":                              anyKey,
	"GET /prometheus/api/v1/query":               reader,
	"POST /prometheus/api/v1/query":              reader,
	"GET /prometheus/api/v1/query_range":         reader,
	"POST /prometheus/api/v1/query_range":        reader,
	"GET /prometheus/api/v1/series":              reader,
	"POST /prometheus/api/v1/series":             reader,
	"GET /prometheus/api/v1/labels":              reader,
	"POST /prometheus/api/v1/labels":             reader,
	"GET /prometheus/api/v1/label/{name}/values": reader,
	"GET /prometheus/api/v1/metadata":            reader,
	"GET /prometheus/api/v1/query_exemplars":     reader,
	"POST /prometheus/api/v1/query_exemplars":    reader,
	"GET /prometheus/api/v1/rules":               reader,
	"GET /prometheus/api/v1/alerts":              reader,
	"GET /prometheus/api/v1/status/buildinfo":    reader,
	"GET /api/v1/query":                          reader,
	"POST /api/v1/query":                         reader,
	"GET /api/v1/query_range":                    reader,
	"POST /api/v1/query_range":                   reader,
	"GET /api/v1/series":                         reader,
	"POST /api/v1/series":                        reader,
	"GET /api/v1/labels":                         reader,
	"POST /api/v1/labels":                        reader,
	"GET /api/v1/label/{name}/values":            reader,
	"GET /api/v1/metadata":                       reader,
	"GET /api/v1/query_exemplars":                reader,
	"POST /api/v1/query_exemplars":               reader,
	"GET /api/v1/rules":                          reader,
	"GET /api/v1/alerts":                         reader,
	"GET /api/v1/status/buildinfo":               reader,

	"GET /v1/keys":         admin,
	"POST /v1/keys":        admin,
	"DELETE /v1/keys/{id}": admin,

	"GET /healthz": anybody,
	"GET /readyz":  anybody,
	"GET /metrics": watcher,

	"GET /docs":             anybody,
	"GET /ui":               anybody,
	"GET /ui/{path...}":     anybody,
	"GET /{$}":              anybody,
	"GET /openapi.json":     anyKey,
	"GET /openapi.yaml":     anyKey,
	"GET /openapi-3.0.json": anyKey,
	"GET /openapi-3.0.yaml": anyKey,
	"GET /schemas/{schema}": anyKey,
}

// String describes the keys with this access.
func (a access) String() string {
	switch a {
	case operator:
		return "an admin key of tenant " + varve.DefaultTenant
	case watcher:
		return "a key of tenant " + varve.DefaultTenant + " with the scope read"
	case admin:
		return "an admin key"
	case reader:
		return "a key with the scope read"
	case writer:
		return "a key with the scope write"
	case anyKey, comparer:
		return "a key"
	default:
		return "no key"
	}
}

func (a access) allows(g *apikeys.Grant) bool {
	switch a {
	case operator:
		return g.Operates(apikeys.Admin)
	case watcher:
		return g.Operates(apikeys.Read)
	case admin:
		return g.Scopes.Has(apikeys.Admin)
	case reader:
		return g.Scopes.Has(apikeys.Read)
	case writer:
		return g.Scopes.Has(apikeys.Write)
	case anyKey, comparer:
		return g.Scopes != 0
	default:
		return true
	}
}

// reads reports whether the requests of a route with this access count as reads.
func (a access) reads() bool { return a == reader || a == comparer }

// open reports whether a request is answered without a key. Browsers load the page of the documentation
// without a key. This page then asks the user for a key, and sends it to load the OpenAPI document. AWS
// IoT Core sends its confirmation of an HTTP destination without a key.
func open(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/ping", "/health", "/ready", "/api/v2/ready":
		return true
	case "/docs", "/":
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	if isConsole(r.URL.Path) {
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	return isConfirmation(r.URL.Path)
}

type grantKey struct{}

// noGrant stands for a missing grant. It has no rights.
var noGrant = &apikeys.Grant{}

// grantOf returns the grant of a request. If the request has none, it returns noGrant.
func grantOf(ctx context.Context) *apikeys.Grant {
	if g, ok := ctx.Value(grantKey{}).(*apikeys.Grant); ok {
		return g
	}
	return noGrant
}

// tenantOf returns the tenant of a request's grant, or "" if the request has no grant.
func tenantOf(ctx context.Context) string { return grantOf(ctx).Tenant }

// require wraps handle with an access check.
func (s *Server) require(a access, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		g := grantOf(r.Context())
		if a.allows(g) {
			handle(w, r)
			return
		}
		s.fail(w, r, varve.Errorf(varve.Forbidden, "this requires %s, and the key that was sent has the scopes %s of tenant %s", a, g.Scopes, g.Tenant))
	}
}

// describeKeys adds the required API key to each operation of the OpenAPI document that needs one.
// Routes of InfluxDB's API also accept a key as the password of Basic authentication.
func (o *operations) describeKeys() {
	const scheme, basic = "key", "basic"
	doc := o.api.OpenAPI()
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{scheme: {
		Type: "http", Scheme: "bearer", Description: "An API key, " + apikeys.Prefix + "…; not needed before the first key exists.",
	}, basic: {
		Type: "http", Scheme: "basic", Description: "An API key as the password of any user, or as the user with an empty password.",
	}}
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete,
		} {
			a := accesses[method+" "+path]
			if op == nil || a == anybody {
				continue
			}
			op.Security = []map[string][]string{{scheme: {}}}
			if isInflux(path) {
				op.Security = append(op.Security, map[string][]string{basic: {}})
			}
			op.Description = strings.TrimSpace(op.Description + " Takes " + a.String() + ".")
		}
	}
}
