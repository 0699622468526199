package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
)

// consoleHandler serves the console, and the rights of a request, which the console reads.
type consoleHandler struct {
	*responder
	console  func(notFound http.Handler) http.Handler // if nil, the console is off
	notFound http.HandlerFunc
	keysOn   func(context.Context) (bool, error)
	version  string
}

func (h *consoleHandler) addRoutes(o *operations) {
	huma.Register(o.api, huma.Operation{OperationID: "get-grant", Method: http.MethodGet, Path: "/v1/grant", Tags: []string{"keys"},
		Summary:     "The rights of this request",
		Description: "The tenant and the scopes of the key that was sent. Before the first key exists, every request has all rights."}, h.grant)
	home := "/docs"
	if h.console != nil {
		home = "/ui"
		pages := h.console(h.notFound)
		o.mux.HandleFunc("GET /ui", pages.ServeHTTP)
		o.mux.HandleFunc("GET /ui/{path...}", pages.ServeHTTP)
	}
	o.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, home, http.StatusFound)
	})
}

func (h *consoleHandler) grant(ctx context.Context, _ *struct{}) (*reply[wire.GrantBody], error) {
	on, err := h.keysOn(ctx)
	if err != nil {
		return nil, h.problem(err)
	}
	g := grantOf(ctx)
	return &reply[wire.GrantBody]{wire.GrantBody{
		Tenant: g.Tenant, Scopes: g.Scopes.Names(), Operator: g.Operates(apikeys.Admin), Watcher: g.Operates(apikeys.Read), KeysOn: on, Version: h.version,
	}}, nil
}

// isConsole reports whether a path belongs to the console. The files of the console are served without a
// key, because browsers request files without a key. The files contain no data.
func isConsole(path string) bool { return path == "/ui" || strings.HasPrefix(path, "/ui/") }
