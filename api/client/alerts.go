package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/varvedb/varve/api/wire"
)

// AddRule creates an alert rule. A repeated call with the same rule changes nothing.
func (c AlertCalls) AddRule(ctx context.Context, r wire.RulePost) (wire.RuleAnswer, error) {
	return getJSON[wire.RuleAnswer](ctx, c.connection, sendJSON(http.MethodPost, "/v1/alert-rules", r))
}

// PreviewRule returns the alerts that a rule would have opened between two times. If "from" is empty, the
// window begins 30 days before its end. If "to" is empty, the window ends now.
func (c AlertCalls) PreviewRule(ctx context.Context, r wire.RulePost, from, to string) (wire.RulePreview, error) {
	send := sendJSON(http.MethodPost, "/v1/alert-rules/preview", r)
	send.query = url.Values{}
	if from != "" {
		send.query.Set("from", from)
	}
	if to != "" {
		send.query.Set("to", to)
	}
	return getJSON[wire.RulePreview](ctx, c.connection, send)
}

// Rules lists the alert rules.
func (c AlertCalls) Rules(ctx context.Context) (wire.RuleList, error) {
	return getJSON[wire.RuleList](ctx, c.connection, request{method: http.MethodGet, path: "/v1/alert-rules"})
}

// Rule returns an alert rule. If the rule does not exist, Rule fails with varve.NotFound.
func (c AlertCalls) Rule(ctx context.Context, id string) (wire.RuleBody, error) {
	return getJSON[wire.RuleBody](ctx, c.connection, request{method: http.MethodGet, path: rulePath(id)})
}

// EditRule replaces an alert rule. If the rule does not exist, EditRule fails with varve.NotFound.
func (c AlertCalls) EditRule(ctx context.Context, id string, r wire.RulePost) (wire.RuleBody, error) {
	return getJSON[wire.RuleBody](ctx, c.connection, sendJSON(http.MethodPut, rulePath(id), r))
}

// MuteRule mutes the alerts of a rule. If the rule does not exist, MuteRule fails with varve.NotFound.
func (c AlertCalls) MuteRule(ctx context.Context, id string, m wire.Mute) (wire.RuleBody, error) {
	return getJSON[wire.RuleBody](ctx, c.connection, sendJSON(http.MethodPost, rulePath(id)+"/mute", m))
}

// UnmuteRule unmutes the alerts of a rule. If the rule does not exist, UnmuteRule fails with
// varve.NotFound.
func (c AlertCalls) UnmuteRule(ctx context.Context, id string) (wire.RuleBody, error) {
	return getJSON[wire.RuleBody](ctx, c.connection, request{method: http.MethodDelete, path: rulePath(id) + "/mute"})
}

func rulePath(id string) string { return "/v1/alert-rules/" + segment(id) }

// DeleteRule deletes an alert rule, and resolves its alerts. If the rule does not exist, DeleteRule fails
// with varve.NotFound.
func (c AlertCalls) DeleteRule(ctx context.Context, id string) error {
	return c.deleteObject(ctx, rulePath(id))
}

// Alerts returns a page of the alerts of all devices, newest first. An empty severity or state
// (open or resolved) means any.
func (c AlertCalls) Alerts(ctx context.Context, severity, state string, l List) (wire.AlertList, error) {
	r := request{method: http.MethodGet, path: "/v1/alerts", query: l.values()}
	if severity != "" {
		r.query.Set("severity", severity)
	}
	return c.alerts(ctx, r, state)
}

// AlertsOf returns a page of the alerts of a device, newest first. An empty state means any.
func (c AlertCalls) AlertsOf(ctx context.Context, device, state string, l List) (wire.AlertList, error) {
	return c.alerts(ctx, request{method: http.MethodGet, path: devicePath(device) + "/alerts", query: l.values()}, state)
}

// AlertQuery selects alerts. An empty field selects all. Device and Severity cannot be combined.
type AlertQuery struct {
	Device, Severity, State, Stream, Rule string
	// From, To and During select alerts by the event time from which their condition holds. They are
	// as in a Query.
	From, To, During string
}

// SelectAlerts returns a page of the selected alerts, newest first.
func (c AlertCalls) SelectAlerts(ctx context.Context, q AlertQuery, l List) (wire.AlertList, error) {
	r := request{method: http.MethodGet, path: "/v1/alerts", query: l.values()}
	if q.Device != "" {
		r.path = devicePath(q.Device) + "/alerts"
	}
	for name, value := range map[string]string{"severity": q.Severity, "stream": q.Stream, "rule": q.Rule, "from": q.From, "to": q.To, "during": q.During} {
		if value != "" {
			r.query.Set(name, value)
		}
	}
	return c.alerts(ctx, r, q.State)
}

func (c AlertCalls) alerts(ctx context.Context, r request, state string) (wire.AlertList, error) {
	if state != "" {
		r.query.Set("state", state)
	}
	return getJSON[wire.AlertList](ctx, c.connection, r)
}

// Deliveries returns a page of the deliveries of alerts, the last queued alert first. An
// empty state means any.
func (c AlertCalls) Deliveries(ctx context.Context, state string, l List) (wire.DeliveryList, error) {
	r := request{method: http.MethodGet, path: "/v1/alerts/deliveries", query: l.values()}
	if state != "" {
		r.query.Set("state", state)
	}
	return getJSON[wire.DeliveryList](ctx, c.connection, r)
}

// Alert returns an alert. If late readings have replaced the alert, Alert returns the new one. If no
// alert ever had the id, Alert fails with varve.NotFound.
func (c AlertCalls) Alert(ctx context.Context, id string) (wire.AlertBody, error) {
	return getJSON[wire.AlertBody](ctx, c.connection, request{method: http.MethodGet, path: alertPath(id)})
}

// ResolveAlert resolves an alert by hand. If the alert does not exist, ResolveAlert fails with
// varve.NotFound.
func (c AlertCalls) ResolveAlert(ctx context.Context, id string) (wire.AlertBody, error) {
	return getJSON[wire.AlertBody](ctx, c.connection, request{method: http.MethodPost, path: alertPath(id) + "/resolve"})
}

// ResolveAlerts resolves a page of the selected alerts by hand. Repeat the call with the Next of
// the answer as choice.Cursor, until Next is empty.
func (c AlertCalls) ResolveAlerts(ctx context.Context, choice wire.AlertChoice) (wire.ResolvedAlerts, error) {
	return getJSON[wire.ResolvedAlerts](ctx, c.connection, sendJSON(http.MethodPost, "/v1/alerts/resolve", choice))
}

// AcknowledgeAlert records the person who acknowledged an alert. If the alert does not exist,
// AcknowledgeAlert fails with varve.NotFound.
func (c AlertCalls) AcknowledgeAlert(ctx context.Context, id string, a wire.Acknowledgement) (wire.AlertBody, error) {
	return getJSON[wire.AlertBody](ctx, c.connection, sendJSON(http.MethodPost, alertPath(id)+"/acknowledge", a))
}

// MuteAlert mutes an alert. If the alert does not exist, MuteAlert fails with varve.NotFound.
func (c AlertCalls) MuteAlert(ctx context.Context, id string, m wire.Mute) (wire.AlertBody, error) {
	return getJSON[wire.AlertBody](ctx, c.connection, sendJSON(http.MethodPost, alertPath(id)+"/mute", m))
}

// UnmuteAlert unmutes an alert. If the alert does not exist, UnmuteAlert fails with varve.NotFound.
func (c AlertCalls) UnmuteAlert(ctx context.Context, id string) (wire.AlertBody, error) {
	return getJSON[wire.AlertBody](ctx, c.connection, request{method: http.MethodDelete, path: alertPath(id) + "/mute"})
}

func alertPath(id string) string { return "/v1/alerts/" + segment(id) }
