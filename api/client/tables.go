package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/varvedb/varve/api/wire"
)

// Tables lists the tables.
func (c OperatorCalls) Tables(ctx context.Context) (wire.TableList, error) {
	return getJSON[wire.TableList](ctx, c.connection, request{method: http.MethodGet, path: "/v1/tables"})
}

// Plan returns the plan of the rotator for a time, which is written as in the API; "" means now.
func (c OperatorCalls) Plan(ctx context.Context, at string) (wire.PlanBody, error) {
	r := request{method: http.MethodGet, path: "/v1/tables/plan"}
	if at != "" {
		r.query = url.Values{"at": {at}}
	}
	return getJSON[wire.PlanBody](ctx, c.connection, r)
}

// Apply runs the rotator now and returns its actions.
func (c OperatorCalls) Apply(ctx context.Context) (wire.PlanBody, error) { return c.ApplyPlan(ctx, "") }

// ApplyPlan runs the rotator if its plan has the digest of a plan that was read. Otherwise it fails
// with varve.Conflict and changes nothing. The digest "" accepts any plan.
func (c OperatorCalls) ApplyPlan(ctx context.Context, digest string) (wire.PlanBody, error) {
	r := request{method: http.MethodPost, path: "/v1/tables/apply"}
	if digest != "" {
		r.query = url.Values{"plan": {digest}}
	}
	return getJSON[wire.PlanBody](ctx, c.connection, r)
}

// Restore cancels the retirement of a table, and puts the table on hold.
func (c OperatorCalls) Restore(ctx context.Context, table string) (wire.TableInfo, error) {
	return getJSON[wire.TableInfo](ctx, c.connection, request{method: http.MethodPost, path: "/v1/tables/" + url.PathEscape(table) + "/restore"})
}

// Hold prevents a table from being retired and dropped, for a reason.
func (c OperatorCalls) Hold(ctx context.Context, table, reason string) (wire.TableInfo, error) {
	return getJSON[wire.TableInfo](ctx, c.connection, request{
		method: http.MethodPut, path: "/v1/tables/" + url.PathEscape(table) + "/hold",
		header: http.Header{"Content-Type": {"application/json"}},
		body: func() (io.Reader, error) {
			body, err := json.Marshal(map[string]string{"reason": reason})
			return bytes.NewReader(body), err
		},
	})
}

// Release lifts a table's hold.
func (c OperatorCalls) Release(ctx context.Context, table string) (wire.TableInfo, error) {
	return getJSON[wire.TableInfo](ctx, c.connection, request{method: http.MethodDelete, path: "/v1/tables/" + url.PathEscape(table) + "/hold"})
}

// Ready returns whether the server accepts readings, and the state of the rotation.
func (c OperatorCalls) Ready(ctx context.Context) (wire.Readiness, error) {
	return getJSON[wire.Readiness](ctx, c.connection, request{method: http.MethodGet, path: "/readyz", accept: []int{http.StatusServiceUnavailable}})
}
