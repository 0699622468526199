package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/varvedb/varve/api/wire"
)

// AddRule makes an alert rule. Making it again is harmless.
func (c *Client) AddRule(ctx context.Context, r wire.RulePost) (wire.RuleAnswer, error) {
	return getJSON[wire.RuleAnswer](ctx, c, sendJSON(http.MethodPost, "/v1/alert-rules", r))
}

// Rules lists the alert rules.
func (c *Client) Rules(ctx context.Context) (wire.RuleList, error) {
	return getJSON[wire.RuleList](ctx, c, request{method: http.MethodGet, path: "/v1/alert-rules"})
}

// Rule returns an alert rule. It fails with varve.NotFound.
func (c *Client) Rule(ctx context.Context, id string) (wire.RuleBody, error) {
	return getJSON[wire.RuleBody](ctx, c, request{method: http.MethodGet, path: "/v1/alert-rules/" + url.PathEscape(id)})
}

// DeleteRule deletes an alert rule. It fails with varve.NotFound.
func (c *Client) DeleteRule(ctx context.Context, id string) error {
	_, err := getJSON[wire.Deleted](ctx, c, request{method: http.MethodDelete, path: "/v1/alert-rules/" + url.PathEscape(id)})
	return err
}

// Alerts returns a page of the alerts of all devices, the newest first, of a
// severity and a state (open or resolved); "" is any.
func (c *Client) Alerts(ctx context.Context, severity, state string, l List) (wire.AlertList, error) {
	r := request{method: http.MethodGet, path: "/v1/alerts", query: l.values()}
	if severity != "" {
		r.query.Set("severity", severity)
	}
	return c.alerts(ctx, r, state)
}

// AlertsOf returns a page of the alerts of a device, the newest first, of a
// state; "" is any.
func (c *Client) AlertsOf(ctx context.Context, device, state string, l List) (wire.AlertList, error) {
	return c.alerts(ctx, request{method: http.MethodGet, path: devicePath(device) + "/alerts", query: l.values()}, state)
}

func (c *Client) alerts(ctx context.Context, r request, state string) (wire.AlertList, error) {
	if state != "" {
		r.query.Set("state", state)
	}
	return getJSON[wire.AlertList](ctx, c, r)
}

// ResolveAlert resolves an alert by hand. It fails with varve.NotFound.
func (c *Client) ResolveAlert(ctx context.Context, id string) (wire.AlertBody, error) {
	return getJSON[wire.AlertBody](ctx, c, request{method: http.MethodPost, path: "/v1/alerts/" + url.PathEscape(id) + "/resolve"})
}
