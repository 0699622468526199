package api

import (
	_ "embed" // embeds docsPage
	"net/http"
)

// docsPage is an HTML page that displays /openapi.json. It loads nothing from other hosts. If the
// server requires a key, the page asks for a key, and forgets it when the page is closed.
//
//go:embed docs.html
var docsPage []byte

type docsHandler struct{}

func (docsHandler) addRoutes(o *operations) {
	o.mux.HandleFunc("GET /docs", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'")
		writeBytes(w, docsPage)
	})
}
