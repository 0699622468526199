package api

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/keys"
)

func (s *Server) routeHealth() {
	s.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		s.write(w, []byte("ok\n"))
	})
	s.HandleFunc("GET /readyz", s.ready)
	metrics := promhttp.HandlerFor(s.opts.Metrics, promhttp.HandlerOpts{})
	s.HandleFunc("GET /metrics", metrics.ServeHTTP)
}

// ready says whether readings can be taken: the tables of this month are there,
// whoever made them. How it is with the deployment otherwise is only for those
// who may see that.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	h := s.opts.Rotator.Health()
	body := wire.Readiness{
		Ready: true, TablesReadyAhead: h.Ready, TablesNeededAhead: h.Needed,
		LastRotation: orNull(h.LastSuccess), RotationError: h.LastError, Version: s.opts.Version,
	}
	if !h.Usable {
		body.Ready, body.Why = false, "the rotator has not made all tables of this month yet"
	}
	var shown any = body
	if !grantOf(r.Context()).Operates(keys.Read) {
		shown = wire.Ready{Ready: body.Ready, Why: body.Why}
	}
	w.Header().Set("Content-Type", "application/json")
	if !body.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if err := s.writeJSON(w, shown); err != nil {
		s.opts.Events.Failed(r, err)
	}
}

// deadline is until when a client must have taken what is sent now.
func (s *Server) deadline() time.Time { return time.Now().Add(s.opts.Limits.Stall) }
