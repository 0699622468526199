package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/fleet"
)

func (s *Server) routeAlerts() {
	const tag = "alerts"
	huma.Register(s.api, fleetOp(tag, "list-alerts-of-device", http.MethodGet, "/v1/devices/{device}/alerts",
		"The alerts of a device, the newest first", ""), s.listDeviceAlerts)
	huma.Register(s.api, fleetOp(tag, "list-alerts", http.MethodGet, "/v1/alerts",
		"The alerts of all devices, the newest first", ""), s.listAlerts)
	huma.Register(s.api, fleetOp(tag, "resolve-alert", http.MethodPost, "/v1/alerts/{id}/resolve", "Resolve an alert by hand",
		"It stays resolved while its condition holds on; when it holds anew, that is another alert. One that is resolved stays as it is."), s.resolveAlert)
}

type deviceAlerts struct {
	Device string `path:"device" doc:"the device"`
	State  string `query:"state" doc:"only alerts of this state, open or resolved; default: all"`
	Paging
}

type alertsQuery struct {
	Severity string `query:"severity" enum:"info,warning,critical" doc:"only alerts of this severity; default: all"`
	State    string `query:"state" doc:"only alerts of this state, open or resolved; default: all"`
	Paging
}

type alertPath struct {
	ID string `path:"id" doc:"the alert's id"`
}

func (s *Server) listDeviceAlerts(ctx context.Context, in *deviceAlerts) (*reply[wire.AlertList], error) {
	return s.alerts(ctx, fleet.AlertList{Device: in.Device, State: fleet.AlertState(in.State), Limit: in.Limit, Cursor: in.Cursor})
}

func (s *Server) listAlerts(ctx context.Context, in *alertsQuery) (*reply[wire.AlertList], error) {
	return s.alerts(ctx, fleet.AlertList{Severity: fleet.Severity(in.Severity), State: fleet.AlertState(in.State), Limit: in.Limit, Cursor: in.Cursor})
}

func (s *Server) alerts(ctx context.Context, l fleet.AlertList) (*reply[wire.AlertList], error) {
	l.Tenant = s.owner(ctx)
	page, err := s.opts.Fleet.Alerts(ctx, l)
	if err != nil {
		return nil, s.problem(inPlace(err, "query", "device"))
	}
	body := wire.AlertList{Alerts: make([]wire.AlertBody, len(page.Items)), Next: page.Next}
	for i := range page.Items {
		body.Alerts[i] = alertBody(&page.Items[i])
	}
	return &reply[wire.AlertList]{body}, nil
}

func (s *Server) resolveAlert(ctx context.Context, in *alertPath) (*reply[wire.AlertBody], error) {
	a, err := s.opts.Fleet.ResolveAlert(ctx, s.owner(ctx), in.ID)
	if err != nil {
		return nil, s.problem(err)
	}
	return &reply[wire.AlertBody]{alertBody(&a)}, nil
}

func alertBody(a *fleet.Alert) wire.AlertBody {
	return wire.AlertBody{
		ID: a.ID, Device: a.Device, Stream: a.Stream, Rule: a.Rule, Severity: string(a.Severity), State: string(a.State()), Message: a.Message,
		Value: rawJSON(a.Value), Since: a.Since, OpenedAt: a.OpenedAt, ResolvedAt: orNull(a.ResolvedAt), ResolvedBy: a.ResolvedBy, Late: a.Late,
	}
}
