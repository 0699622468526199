package api

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
)

func (s *Server) routeHealth(o *operations) {
	o.mux.HandleFunc("GET /healthz", alive)
	o.mux.HandleFunc("GET /readyz", s.ready)
	metrics := promhttp.HandlerFor(s.opts.Metrics, promhttp.HandlerOpts{})
	o.mux.HandleFunc("GET /metrics", metrics.ServeHTTP)
}

// alive answers that the process lives.
func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // a client that disconnected needs no answer
}

// ready reports whether readings can be stored: the tables of this month exist and no
// condition refuses readings. The rest of the state is shown only to requests that
// may see it.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	h := s.opts.Rotator.Health()
	body := wire.Readiness{
		Ready: true, TablesReadyAhead: h.Ahead.Existing, TablesNeededAhead: h.Ahead.Wanted,
		LastRotation: orNull(h.LastSuccess), RotationError: h.LastError, Version: s.opts.Version,
		Conditions: []wire.Condition{},
	}
	if !h.Usable {
		body.Ready, body.Why = false, "the rotator has not made all tables of this month yet"
	}
	for _, c := range s.opts.Conditions.List() {
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
		s.opts.Events.Failed(r, err)
	}
}

// deadline is until when a client must have taken what is sent now.
func (s *Server) deadline() time.Time { return time.Now().Add(s.opts.Limits.Stall) }
