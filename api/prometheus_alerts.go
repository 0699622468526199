package api

import (
	"context"
	"net/http"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/registry"
)

// promAlert is an open alert in the form of Prometheus.
type promAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
	ActiveAt    time.Time         `json:"activeAt"`
	Value       string            `json:"value"`
}

// promRule is an alert rule in the form of Prometheus.
type promRule struct {
	State          string            `json:"state"`
	Name           string            `json:"name"`
	Query          string            `json:"query"`
	Duration       float64           `json:"duration"`
	KeepFiringFor  float64           `json:"keepFiringFor"`
	Labels         map[string]string `json:"labels"`
	Annotations    map[string]string `json:"annotations"`
	Alerts         []promAlert       `json:"alerts"`
	Health         string            `json:"health"`
	EvaluationTime float64           `json:"evaluationTime"`
	LastEvaluation time.Time         `json:"lastEvaluation"`
	Type           string            `json:"type"`
}

// promGroup is a group of rules. All rules of Varve are in one group.
type promGroup struct {
	Name           string     `json:"name"`
	File           string     `json:"file"`
	Rules          []promRule `json:"rules"`
	Interval       float64    `json:"interval"`
	Limit          int        `json:"limit"`
	EvaluationTime float64    `json:"evaluationTime"`
	LastEvaluation time.Time  `json:"lastEvaluation"`
}

const (
	promFiring   = "firing"
	promInactive = "inactive"
	promGroupOf  = "varve"
	promInterval = 60 // seconds between the sweeps of a deadman rule; value rules are evaluated by each write
	promHealthy  = "ok"
)

// maxPromAlerts is the number of open alerts after which openAlerts reads no further page.
const maxPromAlerts = 10 * registry.MaxLimit

// openAlerts returns the open alerts of a tenant, about maxPromAlerts at most. The result "more" reports
// whether others exist.
func (h *prometheusHandler) openAlerts(ctx context.Context, tenant string) (list []alerts.Alert, more bool, err error) {
	q := alerts.AlertList{Tenant: tenant, State: alerts.Open, Limit: registry.MaxLimit}
	for {
		page, err := h.monitor.Alerts(ctx, q)
		if err != nil {
			return nil, false, err
		}
		list = append(list, page.Items...)
		if page.Next == "" || len(list) >= maxPromAlerts {
			return list, page.Next != "", nil
		}
		q.Cursor = page.Next
	}
}

// alertWarnings returns a warning if a list of open alerts is not complete.
func alertWarnings(more bool) []string {
	if !more {
		return nil
	}
	return []string{"results truncated: more alerts are open"}
}

func promAlertOf(a *alerts.Alert) promAlert {
	p := promAlert{
		Labels:      map[string]string{"alertname": a.Rule, "severity": string(a.Severity), "device": a.Device},
		Annotations: map[string]string{"summary": a.Message, "id": a.ID}, State: promFiring, ActiveAt: a.Since, Value: a.Value.String(),
	}
	if a.Stream != "" {
		p.Labels["stream"] = a.Stream
	}
	if a.Late {
		p.Annotations["late"] = "true"
	}
	if a.Value.Kind() != varve.KindNumber {
		p.Annotations["value"], p.Value = p.Value, "1e+00" // clients expect a number
	}
	return p
}

// alerts serves /api/v1/alerts.
func (h *prometheusHandler) alerts(r *http.Request) (*promAnswer, error) {
	open, more, err := h.openAlerts(r.Context(), tenantOf(r.Context()))
	if err != nil {
		return nil, err
	}
	list := make([]promAlert, len(open))
	for i := range open {
		list[i] = promAlertOf(&open[i])
	}
	return jsonAnswer(map[string]any{"alerts": list}, alertWarnings(more)), nil
}

// rules serves /api/v1/rules. Varve has no recording rules.
func (h *prometheusHandler) rules(r *http.Request) (*promAnswer, error) {
	tenant := tenantOf(r.Context())
	all, err := h.monitor.Rules(r.Context(), tenant)
	if err != nil {
		return nil, err
	}
	open, more, err := h.openAlerts(r.Context(), tenant)
	if err != nil {
		return nil, err
	}
	now := h.now().UTC()
	group := promGroup{Name: promGroupOf, File: promGroupOf, Rules: []promRule{}, Interval: promInterval, LastEvaluation: now}
	if r.Form.Get("type") == "record" {
		all = nil
	}
	for i := range all {
		group.Rules = append(group.Rules, promRuleOf(&all[i], open, now))
	}
	groups := []promGroup{}
	if len(group.Rules) > 0 {
		groups = append(groups, group)
	}
	return jsonAnswer(map[string]any{"groups": groups}, alertWarnings(more)), nil
}

func promRuleOf(r *alerts.Rule, open []alerts.Alert, now time.Time) promRule {
	p := promRule{
		State: promInactive, Name: r.ID, Query: r.String(), Duration: r.For.Seconds(), Labels: map[string]string{"severity": string(r.Severity)},
		Annotations: map[string]string{"kind": string(r.Kind)}, Alerts: []promAlert{}, Health: promHealthy, LastEvaluation: now, Type: "alerting",
	}
	for name, value := range map[string]string{"stream": r.Stream, "device": r.Device} {
		if value != "" {
			p.Labels[name] = value
		}
	}
	for i := range open {
		if open[i].Rule == r.ID {
			p.Alerts, p.State = append(p.Alerts, promAlertOf(&open[i])), promFiring
		}
	}
	return p
}
