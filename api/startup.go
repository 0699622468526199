package api

import (
	"encoding/json"
	"net/http"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/health"
)

// Starting returns the handler that answers until the store is open. It reports that the server is
// alive and not ready, and refuses all other requests.
func Starting(conditions *health.Conditions) http.Handler {
	why := func() string {
		for _, c := range conditions.List() {
			if c.Name.Blocks() {
				return c.Name.About()
			}
		}
		return "the store is being opened"
	}
	answer := func(w http.ResponseWriter, media string, body any) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		text, _ := json.Marshal(body) // cannot fail for texts and numbers
		_, _ = w.Write(append(text, '\n'))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "application/json", wire.Ready{Why: why()})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		status := wire.StatusOf(varve.Unavailable)
		answer(w, "application/problem+json", wire.Problem{Title: http.StatusText(status), Status: status, Detail: why() + ": try again"})
	})
	return mux
}
