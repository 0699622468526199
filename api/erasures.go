package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/erasures"
)

// Erasures has the functions that erase the data of devices. If Eraser is nil, no data can be erased.
type Erasures struct {
	Eraser *erasures.Eraser
	// Begin records an erasure with the digest of its plan, and starts its job in the background.
	Begin func(ctx context.Context, t erasures.Target, digest, by string) (erasures.Record, error)
}

type erasuresHandler struct {
	*responder
	Erasures
	now func() time.Time
}

func (h *erasuresHandler) addRoutes(o *operations) {
	if h.Eraser == nil {
		return
	}
	op := func(id, method, path, summary, description string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: description, Tags: []string{"erasures"}}
	}
	huma.Register(o.api, op("plan-erasure", http.MethodGet, "/v1/devices/{device}/erasure-plan", "The data that an erasure would delete",
		"Counts the data of a device that an erasure would delete. The parameters select a stream and a window. Changes nothing."), h.plan)
	huma.Register(o.api, op("begin-erasure", http.MethodPost, "/v1/devices/{device}/erasures", "Erase the data of a device",
		"Begins a job that deletes the data of a plan, and answers at once. 409 if the data has changed since the plan. Readings in tables on hold stay until the release."), h.begin)
	huma.Register(o.api, op("list-erasures", http.MethodGet, "/v1/erasures", "All erasures, the latest first",
		"The records stay, and have no readings."), h.list)
	huma.Register(o.api, op("get-erasure", http.MethodGet, "/v1/erasures/{id}", "An erasure", ""), h.get)
}

// ErasureParams are the parameters of a plan and of an erasure.
type ErasureParams struct {
	Device string `path:"device" doc:"the device"`
	Tenant string `query:"tenant" doc:"the tenant of the device; default: default"`
	Stream string `query:"stream" doc:"only this stream; default: all streams, and the log of the device"`
	From   string `query:"from" doc:"from this event time on, a whole hour: RFC 3339, a date, milliseconds, or relative as in -30d; default: the beginning"`
	To     string `query:"to" doc:"before this event time, a whole hour; default: no limit"`
}

type erasureBegin struct {
	ErasureParams
	Plan string `query:"plan" required:"true" doc:"the digest of the plan"`
}

type erasurePath struct {
	ID string `path:"id" doc:"the id of the erasure"`
}

func (h *erasuresHandler) target(q *ErasureParams) (t erasures.Target, err error) {
	all, now := varve.AllTime(), h.now()
	t = erasures.Target{Tenant: cmp.Or(q.Tenant, varve.DefaultTenant), Device: q.Device, Stream: q.Stream}
	if t.Window.From, err = momentIn("from", q.From, now, all.From); err != nil {
		return t, err
	}
	if t.Window.To, err = momentIn("to", q.To, now, all.To); err != nil {
		return t, err
	}
	if err := t.Validate(); err != nil {
		return t, prefixParam(err, "query", "device")
	}
	return t, nil
}

func (h *erasuresHandler) plan(ctx context.Context, in *ErasureParams) (*reply[wire.ErasurePlan], error) {
	t, err := h.target(in)
	if err != nil {
		return nil, h.problem(err)
	}
	p, err := h.Eraser.Plan(ctx, t)
	if err != nil {
		return nil, h.problem(err)
	}
	erasable, held := p.Readings()
	return &reply[wire.ErasurePlan]{wire.ErasurePlan{
		ErasureTarget: targetBody(&p.Target), Arrived: p.Arrived, Readings: erasable, Held: held,
		Tables: countBodies(p.Tables), Archives: countBodies(p.Archives), Rollups: p.Rollups, Alerts: p.Alerts, Logs: p.Logs,
		Rejects: p.Rejects, Records: p.Records, Registration: p.Registration, Digest: p.Digest(),
	}}, nil
}

func (h *erasuresHandler) begin(ctx context.Context, in *erasureBegin) (*reply[wire.ErasureBody], error) {
	t, err := h.target(&in.ErasureParams)
	if err != nil {
		return nil, h.problem(err)
	}
	r, err := h.Begin(ctx, t, in.Plan, grantOf(ctx).ID)
	if err != nil {
		return nil, h.problem(prefixParam(err, "query", "device"))
	}
	return &reply[wire.ErasureBody]{erasureBody(&r)}, nil
}

func (h *erasuresHandler) list(ctx context.Context, _ *struct{}) (*reply[wire.ErasureList], error) {
	records, err := h.Eraser.List(ctx)
	if err != nil {
		return nil, h.problem(err)
	}
	body := wire.ErasureList{Erasures: make([]wire.ErasureBody, len(records))}
	for i := range records {
		body.Erasures[i] = erasureBody(&records[i])
	}
	return &reply[wire.ErasureList]{body}, nil
}

func (h *erasuresHandler) get(ctx context.Context, in *erasurePath) (*reply[wire.ErasureBody], error) {
	r, err := h.Eraser.Get(ctx, in.ID)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.ErasureBody]{erasureBody(&r)}, nil
}

func targetBody(t *erasures.Target) wire.ErasureTarget {
	b, all := wire.ErasureTarget{Tenant: t.Tenant, Device: t.Device, Stream: t.Stream}, varve.AllTime()
	if !t.Window.From.Equal(all.From) {
		b.From = orNull(t.Window.From.UTC())
	}
	if !t.Window.To.Equal(all.To) {
		b.To = orNull(t.Window.To.UTC())
	}
	return b
}

func countBodies(list []erasures.Count) []wire.ErasureCount {
	bodies := make([]wire.ErasureCount, len(list))
	for i, c := range list {
		bodies[i] = wire.ErasureCount(c)
	}
	return bodies
}

func erasureBody(r *erasures.Record) wire.ErasureBody {
	b := wire.ErasureBody{
		ID: r.ID, ErasureTarget: targetBody(&r.Target), State: string(r.State), By: r.By, Begun: r.Begun, Arrived: r.Arrived,
		Next: orNull(r.Next), Ended: orNull(r.Ended), Problem: r.Problem, Passes: r.Passes, Erased: countBodies(r.Erased), Holds: countBodies(r.Holds),
		Rollups: r.Traces.Rollups, Alerts: r.Traces.Alerts, Logs: r.Traces.Logs, Rejects: r.Traces.Rejects, Records: r.Traces.Records, Registration: r.Traces.Registration,
	}
	for _, c := range r.Planned {
		if c.Hold == "" {
			b.Planned += c.Readings
		}
	}
	for _, c := range r.Erased {
		b.Readings += c.Readings
	}
	return b
}
