package api

import (
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
)

// operations adds routes to the server, and describes them in the OpenAPI document.
type operations struct {
	api huma.API
	mux humago.Mux
}

// newOperations returns operations on mux, and adds the routes of the OpenAPI document.
func newOperations(mux humago.Mux, version string) *operations {
	config := huma.DefaultConfig("Varve", version)
	config.Info.Description = "Device readings in time-bucketed tables."
	config.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	config.DocsPath = "" // huma adds no page of the API, because docs.go serves one from the binary
	config.CreateHooks = nil
	config.Servers = []*huma.Server{{URL: "/", Description: "this server"}}
	config.Transformers = append(config.Transformers, clearer)
	o := &operations{api: humago.New(mux, config), mux: mux}
	o.api.UseMiddleware(o.onlyKnown, o.readable)
	return o
}

// onlyKnown refuses parameters that an operation does not have. It applies only to routes that are
// registered with huma. Most other handlers call writes.Known.
func (o *operations) onlyKnown(ctx huma.Context, next func(huma.Context)) {
	u := ctx.URL()
	if u.RawQuery == "" {
		next(ctx)
		return
	}
	var names []string
	for _, p := range ctx.Operation().Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	if err := writes.Known(u.Query(), names...); err != nil {
		o.refuse(ctx, err)
		return
	}
	next(ctx)
}

// refuse answers a request with an error, without running its operation.
func (o *operations) refuse(ctx huma.Context, err error) {
	e := classify(err)
	// An error only means that the client disconnected.
	_ = huma.WriteErr(o.api, ctx, statusOf(e), e.Error(), &huma.ErrorDetail{Location: e.Param, Message: e.Message})
}

// readable accepts bodies of JSON, even with the default content type of curl, unless a browser sends
// this type. For other content types, it answers with an error that names the remedy.
func (o *operations) readable(ctx huma.Context, next func(huma.Context)) {
	if ctx.Operation().RequestBody == nil {
		next(ctx)
		return
	}
	r, _ := humago.Unwrap(ctx)
	said := r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(said)
	switch {
	case said == "" || err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")):
	case media == "application/x-www-form-urlencoded" && !writes.ByBrowser(r.Header):
		r.Header.Set("Content-Type", "application/json")
	default:
		o.refuse(ctx, writes.Unsupported("Content-Type", "%q is not what is understood here: use application/json", said))
		return
	}
	next(ctx)
}

// maxSaid is the maximum length in bytes of an invalid value that a problem repeats in its detail.
const maxSaid = 60

// clearer copies the first error of an invalid request to the problem's detail.
func clearer(_ huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*huma.ErrorModel); ok && p.Detail == "validation failed" && len(p.Errors) > 0 {
		p.Detail = p.Errors[0].Location + ": " + p.Errors[0].Message
		if said, ok := p.Errors[0].Value.(string); ok && len(said) <= maxSaid {
			p.Detail += fmt.Sprintf(", not %q", said)
		}
	}
	return v, nil
}

// raw adds a route and its description. The handler of the route reads and writes the bodies
// itself.
func (o *operations) raw(method, path string, handle http.HandlerFunc, op *huma.Operation) {
	op.Method, op.Path = method, path
	o.api.OpenAPI().AddOperation(op)
	o.mux.HandleFunc(method+" "+path, handle)
}

func (o *operations) schema(t reflect.Type) *huma.Schema {
	return o.api.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

// responses describes the answers of an operation: a body of type t for the given statuses, and a
// problem for all others.
func (o *operations) responses(t reflect.Type, statuses ...string) map[string]*huma.Response {
	all := map[string]*huma.Response{"default": {
		Description: "A problem (RFC 9457)",
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: o.schema(reflect.TypeFor[huma.ErrorModel]())}},
	}}
	for _, status := range statuses {
		all[status] = &huma.Response{
			Description: "OK",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: o.schema(t)}},
		}
	}
	return all
}

// readingsResponses describes the answers of a query for readings, one for each format.
func (o *operations) readingsResponses() map[string]*huma.Response {
	all := o.responses(reflect.TypeFor[wire.ReadingsBody](), "200")
	forms := all["200"].Content
	forms["application/x-ndjson"] = &huma.MediaType{Schema: o.schema(reflect.TypeFor[wire.ReadingBody]())}
	forms["application/vnd.varve.columns+json"] = &huma.MediaType{Schema: o.schema(reflect.TypeFor[wire.ColumnsBody]())}
	forms["text/csv"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	forms[wire.Arrow.MediaType()] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	return all
}

func pathParam(name, doc string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}
}

// kindOf returns the schema of a query parameter. A parameter that it does not list accepts any text.
func kindOf(name string) *huma.Schema {
	oneOf := func(words ...any) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Enum: words} }
	switch name {
	case "limit":
		least, most := 1.0, float64(maxLimit)
		return &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most}
	case "scan_limit":
		least, most := 1.0, float64(maxScan)
		return &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most}
	case "explain", "consistent", "versions":
		return &huma.Schema{Type: huma.TypeBoolean}
	case "order":
		return oneOf("asc", "desc")
	case "fill":
		return oneOf("none", "null", "previous", "linear")
	case "source":
		return oneOf("readings", "rollups")
	case "group":
		return oneOf("device", "none")
	case "top":
		least, most := 1.0, float64(aggregate.MaxTop)
		return &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most}
	case "decimal":
		return oneOf(".", ",")
	case "bad_cells":
		return oneOf("reject", "skip")
	case "dst":
		return oneOf("earlier", "later")
	case "period":
		return oneOf("hourly", "daily")
	case "by":
		return oneOf("event", "arrival")
	case "precision":
		return oneOf("s", "ms", "us", "ns")
	case "damaged":
		return oneOf("fail", "skip")
	case "numbers":
		return oneOf("exact", "float")
	case "format":
		return oneOf("json", "ndjson", "csv")
	default:
		return &huma.Schema{Type: huma.TypeString}
	}
}

// queryParams returns optional parameters; names and descriptions alternate.
func queryParams(namesAndDocs ...string) []*huma.Param {
	var params []*huma.Param
	for i := 0; i < len(namesAndDocs); i += 2 {
		params = append(params, &huma.Param{
			Name: namesAndDocs[i], In: "query", Description: namesAndDocs[i+1], Schema: kindOf(namesAndDocs[i]),
		})
	}
	return params
}

func deviceParams() []*huma.Param {
	return []*huma.Param{pathParam("stream", "the stream"), pathParam("device", "the device")}
}

func fieldParams() []*huma.Param {
	return queryParams("fields", "only these, separated by commas", "consistent", "true: include every reading that was acknowledged before the request",
		"damaged", "skip: leave damaged rows and lost ranges out, and name them in the coverage; without it they fail the request")
}

func readFormatParam() []*huma.Param {
	params := queryParams("format", wire.FormatNames()+"; default by Accept")
	params[0].Schema = &huma.Schema{Type: huma.TypeString, Enum: []any{"json", "ndjson", "csv", "columns", "arrow"}}
	return params
}
