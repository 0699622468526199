package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/api/wire"
)

type previewHandler struct {
	*rulesHandler
	reads *reads
}

// previewDays is the default length of a preview's window.
const previewDays = 30

func (h *previewHandler) addRoutes(o *operations) {
	huma.Register(o.api, deviceOp("alerts", "preview-rule", http.MethodPost, "/v1/alert-rules/preview", "The alerts that a rule would have opened",
		"It evaluates a value rule on the stored readings of a window, exactly, and stores nothing. "+
			"An alert that began before the window is included as a whole. It reads at most a million readings, of at most 1000 devices."), h.previewRule)
}

type rulePreview struct {
	From string `query:"from" doc:"from this time on: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo; default -30d"`
	To   string `query:"to" doc:"before this time; default: now"`
	Body wire.RulePost
}

func (in *rulePreview) window(now time.Time) (w varve.Window, err error) {
	if w.To, err = momentIn("to", in.To, now, now); err != nil {
		return w, err
	}
	w.From, err = momentIn("from", in.From, now, nearestValid(w.To.AddDate(0, 0, -previewDays)))
	if err == nil && w.To.Before(w.From) {
		err = varve.InvalidParam("query.to", "before from, %s: use a later time", w.From.Format(time.RFC3339))
	}
	return w, err
}

func (h *previewHandler) previewRule(ctx context.Context, in *rulePreview) (*reply[wire.RulePreview], error) {
	w, err := in.window(h.now())
	if err != nil {
		return nil, h.problem(err)
	}
	r, err := ruleFrom(&in.Body)
	if err != nil {
		return nil, h.problem(prefixParam(err, "body"))
	}
	r.Tenant = tenantOf(ctx)
	found, err := h.monitor.Preview(ctx, alerts.PreviewQuery{Rule: r, Window: w, InTurn: h.reads.inTurn})
	if err != nil {
		prefix := "body"
		if e := classify(err); e.Param == "from" || e.Param == "to" {
			prefix = "query"
		}
		return nil, h.problem(prefixParam(err, prefix))
	}
	body := previewBody(found)
	body.From, body.To = w.From, w.To
	if body.Notes, err = h.noteRule(ctx, &found.Rule); err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.RulePreview]{body}, nil
}

func previewBody(p *alerts.Preview) wire.RulePreview {
	body := wire.RulePreview{
		Rule: ruleBody(&p.Rule).RulePost, Series: p.Series, Readings: p.Readings, Total: p.Total, Alerts: []wire.PreviewedAlert{},
	}
	for i := range p.Alerts {
		a := &p.Alerts[i]
		body.Alerts = append(body.Alerts, wire.PreviewedAlert{
			Device: a.Device, Stream: a.Stream, State: string(a.State()), Value: rawJSON(a.Value), Since: a.Since, OpenedAt: a.OpenedAt,
			ResolvedAt: orNull(a.ResolvedAt), ResolvedBy: a.ResolvedBy, Late: a.Late,
		})
	}
	return body
}
