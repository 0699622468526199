package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/timefmt"
)

type alertsHandler struct {
	*responder
	*directory
	monitor *alerts.Monitor
	now     func() time.Time
}

func (h *alertsHandler) addRoutes(o *operations) {
	const tag = "alerts"
	huma.Register(o.api, deviceOp(tag, "list-alerts-of-device", http.MethodGet, "/v1/devices/{device}/alerts",
		"The alerts of a device, the newest first", ""), h.listDeviceAlerts)
	huma.Register(o.api, deviceOp(tag, "list-alerts", http.MethodGet, "/v1/alerts",
		"The alerts of all devices, the newest first", ""), h.listAlerts)
	huma.Register(o.api, deviceOp(tag, "get-alert", http.MethodGet, "/v1/alerts/{id}", "An alert",
		"If late readings gave its place to another alert, that one is the answer, under its own id. If they left none, the alert is resolved by withdrawn."), h.getAlert)
	huma.Register(o.api, deviceOp(tag, "resolve-alerts", http.MethodPost, "/v1/alerts/resolve", "Resolve many alerts by hand",
		"It resolves the open alerts of a choice, up to limit at a time. Repeat it with next as cursor until next is missing."), h.resolveAlerts)
	huma.Register(o.api, deviceOp(tag, "acknowledge-alert", http.MethodPost, "/v1/alerts/{id}/acknowledge", "Acknowledge an alert",
		"It records the person who handles the alert, and replaces the earlier record."), h.acknowledgeAlert)
	huma.Register(o.api, deviceOp(tag, "mute-alert", http.MethodPost, "/v1/alerts/{id}/mute", "Mute an alert until a time", ""), h.muteAlert)
	huma.Register(o.api, deviceOp(tag, "unmute-alert", http.MethodDelete, "/v1/alerts/{id}/mute", "Unmute an alert", ""), h.unmuteAlert)
	huma.Register(o.api, deviceOp(tag, "resolve-alert", http.MethodPost, "/v1/alerts/{id}/resolve", "Resolve an alert by hand",
		"It stays resolved while its condition continues to hold; if the condition stops and holds once more, that is another alert. A resolved alert stays unchanged."), h.resolveAlert)
}

// AlertFilter has the parameters that select alerts in all lists. It is exported because huma ignores
// unexported embedded types.
type AlertFilter struct {
	State  string `query:"state" doc:"only alerts of this state, open or resolved; default: all"`
	Stream string `query:"stream" doc:"only alerts of this stream; default: all"`
	Rule   string `query:"rule" doc:"only alerts of this rule; default: all"`
	From   string `query:"from" doc:"only alerts whose condition holds from this event time on or later (since): RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo; default: all"`
	To     string `query:"to" doc:"only alerts whose condition holds from an event time before this one on; default: all"`
	During string `query:"during" doc:"instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12 or 2024-12-01"`
}

// list returns the query for the page p of the alerts that the filter selects.
func (f *AlertFilter) list(p Paging, now time.Time) (alerts.AlertList, error) {
	l := alerts.AlertList{State: alerts.AlertState(f.State), Stream: f.Stream, Rule: f.Rule, Limit: p.Limit, Cursor: p.Cursor}
	if f.From+f.To+f.During == "" {
		return l, nil
	}
	asked := LogWindow{From: f.From, To: f.To, During: f.During}
	w, err := asked.window(now)
	l.Window, l.Asked = w, []string{f.From, f.To, f.During}
	return l, err
}

type deviceAlerts struct {
	Device string `path:"device" doc:"the device"`
	AlertFilter
	Paging
}

type alertsQuery struct {
	Severity string `query:"severity" enum:"info,warning,critical" doc:"only alerts of this severity; default: all"`
	AlertFilter
	Paging
}

type alertPath struct {
	ID string `path:"id" doc:"the alert's id"`
}

func (h *alertsHandler) listDeviceAlerts(ctx context.Context, in *deviceAlerts) (*reply[wire.AlertList], error) {
	l, err := in.list(in.Paging, h.now())
	if err != nil {
		return nil, h.problem(err)
	}
	l.Device = in.Device
	return h.alertPage(ctx, l)
}

func (h *alertsHandler) listAlerts(ctx context.Context, in *alertsQuery) (*reply[wire.AlertList], error) {
	l, err := in.list(in.Paging, h.now())
	if err != nil {
		return nil, h.problem(err)
	}
	l.Severity = alerts.Severity(in.Severity)
	return h.alertPage(ctx, l)
}

func (h *alertsHandler) alertPage(ctx context.Context, l alerts.AlertList) (*reply[wire.AlertList], error) {
	l.Tenant = tenantOf(ctx)
	page, err := h.monitor.Alerts(ctx, l)
	if err != nil {
		return nil, h.problem(prefixParam(err, "query", "device"))
	}
	if len(page.Items) == 0 && page.Next == "" {
		if err := h.checkNames(ctx, &l); err != nil {
			return nil, h.problem(err)
		}
	}
	body := wire.AlertList{Alerts: make([]wire.AlertBody, len(page.Items)), Next: page.Next}
	for i := range page.Items {
		body.Alerts[i] = alertBody(&page.Items[i])
	}
	return &reply[wire.AlertList]{body}, nil
}

// checkNames fails with NotFound if an empty list is about a device, stream or rule that does not
// exist.
func (h *alertsHandler) checkNames(ctx context.Context, l *alerts.AlertList) error {
	if l.Device != "" {
		if err := h.checkAlerts(ctx, l.Tenant, l.Device); err != nil {
			return err
		}
	}
	if l.Stream != "" {
		if err := h.checkStream(ctx, l.Tenant, l.Stream); err != nil {
			return err
		}
	}
	if l.Rule != "" {
		_, err := h.monitor.Rule(ctx, l.Tenant, l.Rule)
		return err
	}
	return nil
}

// checkAlerts fails with NotFound if a device is not registered and has no alerts.
func (h *alertsHandler) checkAlerts(ctx context.Context, tenant, device string) error {
	missing := h.checkDevice(ctx, tenant, device)
	if varve.FailureOf(missing) != varve.NotFound {
		return missing
	}
	page, err := h.monitor.Alerts(ctx, alerts.AlertList{Tenant: tenant, Device: device, Limit: 1})
	if err != nil || len(page.Items) > 0 {
		return err
	}
	return missing
}

func (h *alertsHandler) resolveAlert(ctx context.Context, in *alertPath) (*reply[wire.AlertBody], error) {
	a, err := h.monitor.ResolveAlert(ctx, tenantOf(ctx), in.ID)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.AlertBody]{alertBody(&a)}, nil
}

func (h *alertsHandler) alertReply(a alerts.Alert, err error) (*reply[wire.AlertBody], error) {
	if err != nil {
		return nil, h.problem(prefixParam(err, "body"))
	}
	return &reply[wire.AlertBody]{alertBody(&a)}, nil
}

func (h *alertsHandler) getAlert(ctx context.Context, in *alertPath) (*reply[wire.AlertBody], error) {
	return h.alertReply(h.monitor.Alert(ctx, tenantOf(ctx), in.ID))
}

type alertChoice struct{ Body wire.AlertChoice }

func (h *alertsHandler) resolveAlerts(ctx context.Context, in *alertChoice) (*reply[wire.ResolvedAlerts], error) {
	b := &in.Body
	page, err := h.monitor.ResolveAlerts(ctx, alerts.AlertChoice{
		Tenant: tenantOf(ctx), IDs: b.IDs, Rule: b.Rule, Device: b.Device, Severity: alerts.Severity(b.Severity), All: b.All, Limit: b.Limit, Cursor: b.Cursor,
	})
	if err != nil {
		return nil, h.problem(prefixParam(err, "body"))
	}
	body := wire.ResolvedAlerts{Resolved: make([]wire.AlertBody, len(page.Resolved)), Missing: page.Missing, Next: page.Next}
	for i := range page.Resolved {
		body.Resolved[i] = alertBody(&page.Resolved[i])
	}
	return &reply[wire.ResolvedAlerts]{body}, nil
}

type alertAcknowledge struct {
	ID   string `path:"id" doc:"the alert's id"`
	Body wire.Acknowledgement
}

func (h *alertsHandler) acknowledgeAlert(ctx context.Context, in *alertAcknowledge) (*reply[wire.AlertBody], error) {
	by := in.Body.By
	if by == "" {
		by = grantOf(ctx).ID
	}
	return h.alertReply(h.monitor.AcknowledgeAlert(ctx, tenantOf(ctx), in.ID, by, in.Body.Note))
}

type alertMute struct {
	ID   string `path:"id" doc:"the alert's id"`
	Body wire.Mute
}

func (h *alertsHandler) muteAlert(ctx context.Context, in *alertMute) (*reply[wire.AlertBody], error) {
	until, err := muteEnd(&in.Body, h.now())
	if err != nil {
		return nil, h.problem(prefixParam(err, "body"))
	}
	return h.alertReply(h.monitor.MuteAlert(ctx, tenantOf(ctx), in.ID, until))
}

func (h *alertsHandler) unmuteAlert(ctx context.Context, in *alertPath) (*reply[wire.AlertBody], error) {
	return h.alertReply(h.monitor.MuteAlert(ctx, tenantOf(ctx), in.ID, time.Time{}))
}

// muteEnd returns the end of a mute, which a request gives as a time or as a duration from now.
func muteEnd(m *wire.Mute, now time.Time) (time.Time, error) {
	switch {
	case (m.Until == nil) == (m.For == ""):
		return time.Time{}, varve.InvalidParam("for", "the end is missing or given twice: use for or until")
	case m.Until != nil:
		return *m.Until, nil
	}
	d, err := timefmt.ParseDuration(m.For)
	if err != nil || d <= 0 || d > maxMute {
		return time.Time{}, varve.InvalidParam("for", "%q is not a duration up to 10y: use one as in 2h", m.For)
	}
	return now.Add(d), nil
}

const maxMute = 10 * 365 * 24 * time.Hour

func alertBody(a *alerts.Alert) wire.AlertBody {
	b := wire.AlertBody{
		ID: a.ID, Device: a.Device, Stream: a.Stream, Rule: a.Rule, Severity: string(a.Severity), State: string(a.State()), Message: a.Message,
		Value: rawJSON(a.Value), Since: a.Since, OpenedAt: a.OpenedAt, ResolvedAt: orNull(a.ResolvedAt), ResolvedBy: a.ResolvedBy, Late: a.Late,
		MutedUntil: orNull(a.MutedUntil), KnownSince: orNull(a.KnownAt),
	}
	if k := a.Acknowledged; !k.At.IsZero() {
		b.Acknowledged = &wire.AcknowledgedBody{Acknowledgement: wire.Acknowledgement{By: k.By, Note: k.Comment}, At: k.At}
	}
	return b
}
