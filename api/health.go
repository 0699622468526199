package api

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/rotator"
)

// healthHandler serves the state of the process, and its metrics.
type healthHandler struct {
	*responder
	rotator    *rotator.Rotator
	conditions *health.Conditions
	keysOn     func(context.Context) (bool, error) // fails if a request cannot be checked for a key
	metrics    *prometheus.Registry
	version    string
}

func (h *healthHandler) addRoutes(o *operations) {
	o.mux.HandleFunc("GET /healthz", alive)
	o.mux.HandleFunc("GET /readyz", h.ready)
	metrics := promhttp.HandlerFor(h.metrics, promhttp.HandlerOpts{})
	o.mux.HandleFunc("GET /metrics", metrics.ServeHTTP)
}

// alive reports that the process is running.
func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // a client that disconnected needs no answer
}

// ready reports whether readings can be stored: the tables of this month exist, it is known whether API keys
// exist, and no condition blocks writes. Only keys of varve.DefaultTenant that may read get the rest of the state.
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
