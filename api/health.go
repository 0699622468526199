package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/rotator"
)

type healthHandler struct {
	*responder
	rotator    *rotator.Rotator
	conditions *health.Conditions
	keysOn     func(context.Context) (bool, error) // reports whether requests need a key, and fails if this is not known
	metrics    *prometheus.Registry
	version    string
}

func (h *healthHandler) addRoutes(o *operations) {
	live := o.responses(reflect.TypeFor[wire.Ready]())
	live["200"] = &huma.Response{Description: "The process is running", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}
	o.raw(http.MethodGet, "/healthz", alive, &huma.Operation{
		OperationID: "get-liveness", Summary: "Whether the process is running", Tags: []string{"health"}, Responses: live,
	})
	ready := o.responses(reflect.TypeFor[wire.Readiness](), "200", "503")
	ready["200"].Description, ready["503"].Description = "Readings can be stored", "Readings cannot be stored, for the reason in why"
	o.raw(http.MethodGet, "/readyz", h.ready, &huma.Operation{
		OperationID: "get-readiness", Summary: "Whether readings can be stored", Tags: []string{"health"}, Responses: ready,
		Description: "Without a key of the tenant default that may read, the answer has only ready and why.",
	})
	metrics := promhttp.HandlerFor(h.metrics, promhttp.HandlerOpts{})
	o.mux.HandleFunc("GET /metrics", metrics.ServeHTTP)
}

func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // a client that disconnected needs no answer
}

// ready reports whether readings can be stored: the tables of this month exist, it is known whether API keys
// exist, and no condition blocks writes. Only requests that may read in varve.DefaultTenant get the rest of
// the state.
func (h *healthHandler) ready(w http.ResponseWriter, r *http.Request) {
	state := h.rotator.Health()
	body := wire.Readiness{
		Ready: true, TablesReadyAhead: state.Ahead.Existing, TablesNeededAhead: state.Ahead.Wanted,
		LastRotation: orNull(state.LastSuccess), RotationError: state.LastError, Version: h.version,
		Conditions: []wire.Condition{},
	}
	if !state.Usable {
		body.Ready, body.Why = false, "the rotator has not made all tables of this month yet"
	}
	if _, err := h.keysOn(r.Context()); err != nil {
		body.Ready, body.Why = false, "it cannot be read whether API keys exist, so all requests are refused"
	}
	for _, c := range h.conditions.List() {
		if c.Name.Blocks() {
			body.Ready, body.Why = false, c.Name.About()
		}
		body.Conditions = append(body.Conditions, wire.Condition{Name: string(c.Name), Since: c.Since, Message: c.Message})
	}
	var shown any = body
	if !grantOf(r.Context()).Operates(apikeys.Read) {
		shown = wire.Ready{Ready: body.Ready, Why: body.Why}
	}
	w.Header().Set("Content-Type", "application/json")
	if !body.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if err := writeJSON(w, shown); err != nil {
		h.report(r, err)
	}
}
