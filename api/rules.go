package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/timefmt"
)

type rulesHandler struct {
	*responder
	*directory
	monitor *alerts.Monitor
	now     func() time.Time
}

func (h *rulesHandler) addRoutes(o *operations) {
	const tag, all, one = "alerts", "/v1/alert-rules", "/v1/alert-rules/{rule}"
	huma.Register(o.api, deviceOp(tag, "add-rule", http.MethodPost, all, "Make an alert rule",
		"It is in force within ten seconds, for readings that arrive from then on. Making it again is harmless."), h.postRule)
	huma.Register(o.api, deviceOp(tag, "list-rules", http.MethodGet, all, "The alert rules, in the order of their ids", ""), h.listRules)
	huma.Register(o.api, deviceOp(tag, "get-rule", http.MethodGet, one, "An alert rule", ""), h.getRule)
	huma.Register(o.api, deviceOp(tag, "delete-rule", http.MethodDelete, one, "Delete an alert rule",
		"Its open alerts are resolved by rule_deleted: many at once, the rest within minutes."), h.deleteRule)
	huma.Register(o.api, deviceOp(tag, "edit-rule", http.MethodPut, one, "Edit an alert rule",
		"It replaces the whole rule. Another severity keeps its alerts as they are. Any other change makes it a new rule under its id: "+
			"open alerts are resolved by rule_changed, and readings that arrive from then on are evaluated."), h.putRule)
	huma.Register(o.api, deviceOp(tag, "mute-rule", http.MethodPost, one+"/mute", "Mute the alerts of a rule until a time", ""), h.muteRule)
	huma.Register(o.api, deviceOp(tag, "unmute-rule", http.MethodDelete, one+"/mute", "Unmute the alerts of a rule", ""), h.unmuteRule)
}

type rulePost struct{ Body wire.RulePost }

type rulePath struct {
	Rule string `path:"rule" doc:"the rule's id"`
}

func (h *rulesHandler) postRule(ctx context.Context, in *rulePost) (*reply[wire.RuleAnswer], error) {
	r, err := ruleFrom(&in.Body)
	var outcome varve.Outcome
	if err == nil {
		r.Tenant = tenantOf(ctx)
		r, outcome, err = h.monitor.AddRule(ctx, r)
	}
	if err != nil {
		return nil, h.problem(prefixParam(err, "body"))
	}
	notes, err := h.noteRule(ctx, &r)
	if err != nil {
		return nil, h.problem(err)
	}
	return &reply[wire.RuleAnswer]{wire.RuleAnswer{Verdict: outcome.String(), Rule: ruleBody(&r), Notes: notes}}, nil
}

// noteRule returns notes on the stream and the device of a rule, if they do not exist. Otherwise, it
// returns a note on the field of the rule if the latest readings of the stream lack it.
func (h *rulesHandler) noteRule(ctx context.Context, r *alerts.Rule) ([]wire.Note, error) {
	notes, err := h.noteNames(ctx, "body", varve.Series{Tenant: r.Tenant, Stream: r.Stream, Device: r.Device})
	if err != nil || len(notes) > 0 || r.Stream == "" || r.Field == "" {
		return notes, err
	}
	seen, err := h.hasField(ctx, r.Tenant, r.Stream, r.Device, r.Field)
	if err != nil || seen {
		return nil, err
	}
	return []wire.Note{{Param: "body.field", Message: "field " + quote.Text(r.Field) + ": not found in the latest readings of stream " + r.Stream + ": check its name"}}, nil
}

func ruleFrom(b *wire.RulePost) (r alerts.Rule, err error) {
	r = alerts.Rule{
		ID: b.ID, Kind: alerts.Kind(b.Kind), Stream: b.Stream, Device: b.Device, Field: b.Field,
		Comparison: alerts.Comparison(b.Comparison), Severity: alerts.Severity(b.Severity), Late: alerts.LateMode(b.Late),
	}
	if b.For != "" {
		if r.For, err = timefmt.ParseDuration(b.For); err != nil {
			return r, varve.InvalidParam("for", "%s", err)
		}
	}
	switch b.Gap {
	case "":
	case "none":
		r.Gap = alerts.NoGap
	default:
		if r.Gap, err = timefmt.ParseDuration(b.Gap); err != nil || r.Gap == 0 {
			return r, varve.InvalidParam("gap", "%q is not a duration: use one as in 10m, or none", b.Gap)
		}
	}
	r.Threshold, err = threshold(b.Threshold)
	return r, err
}

type rulePut struct {
	Rule string `path:"rule" doc:"the rule's id"`
	Body wire.RulePost
}

func (h *rulesHandler) putRule(ctx context.Context, in *rulePut) (*reply[wire.RuleBody], error) {
	r, err := ruleFrom(&in.Body)
	if err == nil && r.ID != "" && r.ID != in.Rule {
		err = varve.InvalidParam("id", "%q is not the id in the path: leave it out", r.ID)
	}
	if err == nil {
		r.Tenant, r.ID = tenantOf(ctx), in.Rule
		r, err = h.monitor.EditRule(ctx, r)
	}
	return h.ruleReply(r, err)
}

func (h *rulesHandler) ruleReply(r alerts.Rule, err error) (*reply[wire.RuleBody], error) {
	if err != nil {
		return nil, h.problem(prefixParam(err, "body", "rule"))
	}
	return &reply[wire.RuleBody]{ruleBody(&r)}, nil
}

type ruleMute struct {
	Rule string `path:"rule" doc:"the rule's id"`
	Body wire.Mute
}

func (h *rulesHandler) muteRule(ctx context.Context, in *ruleMute) (*reply[wire.RuleBody], error) {
	until, err := muteEnd(&in.Body, h.now())
	if err != nil {
		return nil, h.problem(prefixParam(err, "body"))
	}
	return h.ruleReply(h.monitor.MuteRule(ctx, tenantOf(ctx), in.Rule, until))
}

func (h *rulesHandler) unmuteRule(ctx context.Context, in *rulePath) (*reply[wire.RuleBody], error) {
	return h.ruleReply(h.monitor.MuteRule(ctx, tenantOf(ctx), in.Rule, time.Time{}))
}

// threshold parses the threshold of a rule: a number with all its digits, a string or a boolean.
func threshold(text json.RawMessage) (v varve.Value, err error) {
	var as any
	if len(text) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(text, &as); err != nil {
		return v, varve.InvalidParam("threshold", "%s", err)
	}
	switch as := as.(type) {
	case string:
		return varve.StringValue(as), nil
	case bool:
		return varve.BoolValue(as), nil
	case float64:
		n, err := decimal.Parse(string(text))
		if err != nil {
			return v, varve.InvalidParam("threshold", "%s: %s", text, err)
		}
		return varve.NumberValue(n), nil
	default:
		return v, varve.InvalidParam("threshold", "not a number, string or boolean")
	}
}

func (h *rulesHandler) listRules(ctx context.Context, _ *struct{}) (*reply[wire.RuleList], error) {
	list, err := h.monitor.Rules(ctx, tenantOf(ctx))
	if err != nil {
		return nil, h.problem(err)
	}
	body := wire.RuleList{Rules: make([]wire.RuleBody, len(list))}
	for i := range list {
		body.Rules[i] = ruleBody(&list[i])
	}
	return &reply[wire.RuleList]{body}, nil
}

func (h *rulesHandler) getRule(ctx context.Context, in *rulePath) (*reply[wire.RuleBody], error) {
	r, err := h.monitor.Rule(ctx, tenantOf(ctx), in.Rule)
	if err != nil {
		return nil, h.problem(prefixParam(err, "query", "rule"))
	}
	return &reply[wire.RuleBody]{ruleBody(&r)}, nil
}

func (h *rulesHandler) deleteRule(ctx context.Context, in *rulePath) (*reply[wire.Deleted], error) {
	if err := h.monitor.DeleteRule(ctx, tenantOf(ctx), in.Rule); err != nil {
		return nil, h.problem(prefixParam(err, "query", "rule"))
	}
	return &reply[wire.Deleted]{wire.Deleted{Deleted: in.Rule}}, nil
}

func ruleBody(r *alerts.Rule) wire.RuleBody {
	b := wire.RuleBody{RulePost: wire.RulePost{
		ID: r.ID, Kind: string(r.Kind), Stream: r.Stream, Device: r.Device, Field: r.Field, Comparison: string(r.Comparison),
		Threshold: rawJSON(r.Threshold), Severity: string(r.Severity), Late: string(r.Late),
	}, GapMeasured: r.GapMeasured, CreatedAt: r.CreatedAt, UpdatedAt: orNull(r.UpdatedAt), MutedUntil: orNull(r.MutedUntil)}
	switch {
	case r.Gap > 0:
		b.Gap = timefmt.FormatDuration(r.Gap)
	case r.Kind == alerts.OnValue:
		b.Gap = "none"
	}
	if r.For != 0 {
		b.For = timefmt.FormatDuration(r.For)
	}
	return b
}
