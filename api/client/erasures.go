package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/varvedb/varve/api/wire"
)

// ErasureTarget is the target of an erasure.
type ErasureTarget struct {
	Device   string
	Tenant   string // the tenant of the device; "" means the default one
	Stream   string // if empty, the target is all streams and the log of the device
	From, To string // event times in whole hours, as in queries; if empty, no limit
}

func (t *ErasureTarget) request(method, what string) request {
	r := request{method: method, path: devicePath(t.Device) + what, query: url.Values{}}
	for name, text := range map[string]string{"tenant": t.Tenant, "stream": t.Stream, "from": t.From, "to": t.To} {
		if text != "" {
			r.query.Set(name, text)
		}
	}
	return r
}

// PlanErasure returns the data that an erasure would delete. It changes nothing.
func (c OperatorCalls) PlanErasure(ctx context.Context, t ErasureTarget) (wire.ErasurePlan, error) {
	return getJSON[wire.ErasurePlan](ctx, c.connection, t.request(http.MethodGet, "/erasure-plan"))
}

// BeginErasure begins an erasure. The argument "digest" is the digest of its plan. If the data has
// changed since the plan was made, BeginErasure fails with varve.Conflict.
func (c OperatorCalls) BeginErasure(ctx context.Context, t ErasureTarget, digest string) (wire.ErasureBody, error) {
	r := t.request(http.MethodPost, "/erasures")
	r.query.Set("plan", digest)
	return getJSON[wire.ErasureBody](ctx, c.connection, r)
}

// Erasures returns the records of all erasures, the latest first.
func (c OperatorCalls) Erasures(ctx context.Context) (wire.ErasureList, error) {
	return getJSON[wire.ErasureList](ctx, c.connection, request{method: http.MethodGet, path: "/v1/erasures"})
}

// Erasure returns the record of an erasure.
func (c OperatorCalls) Erasure(ctx context.Context, id string) (wire.ErasureBody, error) {
	return getJSON[wire.ErasureBody](ctx, c.connection, request{method: http.MethodGet, path: "/v1/erasures/" + segment(id)})
}
