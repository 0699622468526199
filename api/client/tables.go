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

// Plan returns the plan of the rotator for a time in any form that the API accepts. If "at" is "", Plan
// returns the plan for the current time.
func (c OperatorCalls) Plan(ctx context.Context, at string) (wire.PlanBody, error) {
	r := request{method: http.MethodGet, path: "/v1/tables/plan"}
	if at != "" {
		r.query = url.Values{"at": {at}}
	}
	return getJSON[wire.PlanBody](ctx, c.connection, r)
}

// TableArrivals counts the readings of a table by the day of their arrival. This makes the server read
// the whole table.
func (c OperatorCalls) TableArrivals(ctx context.Context, table string) (wire.TableArrivals, error) {
	return getJSON[wire.TableArrivals](ctx, c.connection, request{method: http.MethodGet, path: "/v1/tables/" + segment(table) + "/arrivals"})
}

// Apply runs the rotator now and returns its actions.
func (c OperatorCalls) Apply(ctx context.Context) (wire.PlanBody, error) { return c.ApplyPlan(ctx, "") }

// ApplyPlan runs the rotator if its present plan has the given digest. Otherwise it fails with
// varve.Conflict and changes nothing. The digest "" accepts any plan.
func (c OperatorCalls) ApplyPlan(ctx context.Context, digest string) (wire.PlanBody, error) {
	r := request{method: http.MethodPost, path: "/v1/tables/apply"}
	if digest != "" {
		r.query = url.Values{"plan": {digest}}
	}
	return getJSON[wire.PlanBody](ctx, c.connection, r)
}

// Restore cancels the retirement of a table, and puts the table on hold.
func (c OperatorCalls) Restore(ctx context.Context, table string) (wire.TableInfo, error) {
	return getJSON[wire.TableInfo](ctx, c.connection, request{method: http.MethodPost, path: "/v1/tables/" + segment(table) + "/restore"})
}

// Hold puts a table on hold, so that it is neither retired nor dropped. The server stores the reason.
func (c OperatorCalls) Hold(ctx context.Context, table, reason string) (wire.TableInfo, error) {
	return getJSON[wire.TableInfo](ctx, c.connection, holdRequest("/v1/tables/"+segment(table), reason))
}

func holdRequest(path, reason string) request {
	return request{
		method: http.MethodPut, path: path + "/hold",
		header: http.Header{"Content-Type": {"application/json"}},
		body: func() (io.Reader, error) {
			body, err := json.Marshal(map[string]string{"reason": reason})
			return bytes.NewReader(body), err
		},
	}
}

// Release releases the hold on a table.
func (c OperatorCalls) Release(ctx context.Context, table string) (wire.TableInfo, error) {
	return getJSON[wire.TableInfo](ctx, c.connection, request{method: http.MethodDelete, path: "/v1/tables/" + segment(table) + "/hold"})
}

// Ready reports whether the server accepts readings, and returns the state of the rotator. Agents of
// earlier versions answer with the status ok instead of the field ready.
func (c OperatorCalls) Ready(ctx context.Context) (wire.Readiness, error) {
	type answer struct {
		wire.Readiness
		Status string `json:"status"`
	}
	a, err := getJSON[answer](ctx, c.connection, request{method: http.MethodGet, path: "/readyz", accept: []int{http.StatusServiceUnavailable}})
	a.Ready = a.Ready || a.Status == "ok"
	return a.Readiness, err
}
