package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/prometheus"
)

// Prometheus configures the routes of Prometheus' query API. Zero fields have the defaults of package
// prometheus.
type Prometheus struct {
	MaxSeries, MaxSamples int
	Timeout               time.Duration
	Lookback              time.Duration
	StreamLookback        map[string]time.Duration
}

// prometheusRoots are the paths below which the query API is served. So Grafana's data source may have
// the address of the server, with or without /prometheus.
var prometheusRoots = []string{"/prometheus", ""}

// prometheusPaths are the prefixes of the paths on which errors have Prometheus' form.
var prometheusPaths = []string{"/prometheus/api/v1/", "/api/v1/"}

func isPrometheus(path string) bool {
	for _, prefix := range prometheusPaths {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

type prometheusHandler struct {
	*responder
	engine  *prometheus.Engine
	monitor *alerts.Monitor
	now     func() time.Time
	version string
}

func newPrometheus(a *responder, reads *reads, o *Options) *prometheusHandler {
	p := o.Prometheus
	return &prometheusHandler{
		responder: a, monitor: o.Alerts, now: o.Now, version: o.Version,
		engine: prometheus.New(prometheus.Options{
			Readings: o.Query, Rollups: o.Rollups, Streams: o.Streams, Devices: o.Devices, Now: o.Now,
			InTurn: reads.inTurn, Parallel: o.Limits.ReadsAtWork, MaxSeries: p.MaxSeries, MaxSamples: p.MaxSamples,
			Timeout: p.Timeout, Lookback: p.Lookback, StreamLookback: p.StreamLookback,
		}),
	}
}

// prometheusRoute is a route of the query API, below each root.
type prometheusRoute struct {
	path, id, summary string
	params            []*huma.Param
	posts             bool // if true, the parameters may also be sent as a form in the body
	answer            func(*http.Request) (*promAnswer, error)
}

func (h *prometheusHandler) routes() []prometheusRoute {
	match := queryParams("match[]", "a selector; may occur several times", "start", "from this time on: unix seconds or RFC 3339",
		"end", "up to this time", "limit", "maximum number of results")
	match[3].Schema = &huma.Schema{Type: huma.TypeInteger}
	name := pathParam("name", "the label")
	return []prometheusRoute{
		{"/query", "prometheus-query", "Evaluate a PromQL query at one time", queryParams("query", "the query", "time", "unix seconds or RFC 3339; default now",
			"timeout", "time limit", "lookback_delta", "look-back; default three times the observed interval"), true, h.query},
		{"/query_range", "prometheus-query-range", "Evaluate a PromQL query at each step of a range", queryParams("query", "the query", "start", "the first step", "end", "the last step",
			"step", "seconds, or a duration as in 5m", "timeout", "time limit", "lookback_delta", "look-back; default three times the observed interval"), true, h.queryRange},
		{"/series", "prometheus-series", "The labels of series", match, true, h.series},
		{"/labels", "prometheus-labels", "The names of labels", match, true, h.labels},
		{"/label/{name}/values", "prometheus-label-values", "The values of a label", append([]*huma.Param{name}, match...), false, h.labelValues},
		{"/metadata", "prometheus-metadata", "The types of metrics: each is a gauge", queryParams("metric", "only this metric", "limit", "maximum number of metrics"), false, h.metadata},
		{"/query_exemplars", "prometheus-exemplars", "No exemplars: Varve has none", nil, true, h.exemplars},
		{"/rules", "prometheus-rules", "The alert rules", nil, false, h.rules},
		{"/alerts", "prometheus-alerts", "The open alerts", nil, false, h.alerts},
		{"/status/buildinfo", "prometheus-buildinfo", "The version of Prometheus' API", nil, false, h.buildInfo},
	}
}

func (h *prometheusHandler) addRoutes(o *operations) {
	for _, route := range h.routes() {
		serve := h.serve(route.answer)
		for i, root := range prometheusRoots {
			pattern := root + "/api/v1" + route.path
			if i == 0 {
				o.raw(http.MethodGet, pattern, serve, &huma.Operation{
					OperationID: route.id, Summary: route.summary, Tags: []string{"prometheus"}, Parameters: route.params,
					Description: "As Prometheus answers it; also without /prometheus before the path. See docs/prometheus.md.",
					Responses: map[string]*huma.Response{
						"200":     {Description: "OK", Content: promContent},
						"default": {Description: "An error in the form of Prometheus", Content: promContent},
					},
				})
			} else {
				o.mux.HandleFunc(http.MethodGet+" "+pattern, serve)
			}
			if route.posts {
				o.mux.HandleFunc(http.MethodPost+" "+pattern, serve)
			}
		}
	}
}

var promContent = map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}

// promAnswer has the data, the warnings and the infos of a successful answer. The handler that "serve" returns
// writes them as one JSON object.
type promAnswer struct {
	data            func(dst []byte) []byte // appends the value of the property "data"
	warnings, infos []string
	close           func()
}

// jsonAnswer returns an answer whose data is v as JSON. The value v must be one that can always be
// marshaled.
func jsonAnswer(v any, warnings []string) *promAnswer {
	return &promAnswer{warnings: warnings, data: func(dst []byte) []byte {
		text, _ := wire.MarshalJSON(v)
		return append(dst, text...)
	}}
}

// maxPromForm is the maximum length in bytes of a form in a body.
const maxPromForm = 1 << 20

func (h *prometheusHandler) serve(answer func(*http.Request) (*promAnswer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxPromForm)
		if err := r.ParseForm(); err != nil {
			h.fail(w, r, &prometheus.Error{Kind: prometheus.BadData, Err: errors.New("error parsing form values: " + err.Error())})
			return
		}
		a, err := answer(r)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		if a.close != nil {
			defer a.close()
		}
		body := append([]byte(nil), `{"status":"success","data":`...)
		body = a.data(body)
		body = appendTexts(body, "warnings", a.warnings)
		body = appendTexts(body, "infos", a.infos)
		w.Header().Set("Content-Type", "application/json")
		writeBytes(w, append(body, "}\n"...))
	}
}

// appendTexts appends a property with a list of texts, unless the list is empty.
func appendTexts(dst []byte, name string, texts []string) []byte {
	if len(texts) == 0 {
		return dst
	}
	list, _ := json.Marshal(texts) // texts always have a JSON form
	dst = append(dst, `,"`+name+`":`...)
	return append(dst, list...)
}

var promStatuses = map[prometheus.Kind]int{
	prometheus.BadData: http.StatusBadRequest, prometheus.Execution: http.StatusUnprocessableEntity, prometheus.Internal: http.StatusInternalServerError,
	prometheus.Timeout: http.StatusServiceUnavailable, prometheus.Canceled: http.StatusServiceUnavailable,
}

// failPrometheus answers with an error in the form of Prometheus. The arguments "message" and "status"
// apply unless err is a prometheus.Error.
func failPrometheus(w http.ResponseWriter, err error, message string, status int) {
	kind := prometheus.Internal
	var own *prometheus.Error
	switch {
	case errors.As(err, &own):
		kind, status, message = own.Kind, promStatuses[own.Kind], own.Error()
	case status == http.StatusServiceUnavailable:
		kind = prometheus.Timeout
	case status == http.StatusNotFound:
		kind = "not_found"
	case status < http.StatusInternalServerError:
		kind = prometheus.BadData
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="varve"`)
	}
	// A map of texts can always be marshaled.
	body, _ := wire.MarshalJSON(map[string]string{"status": "error", "errorType": string(kind), "error": message})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeBytes(w, append(body, '\n'))
}

// apiVersion is the version of Prometheus whose query API and engine are served. Grafana reads it.
const apiVersion = "3.15.0"

// buildInfo serves /api/v1/status/buildinfo.
func (h *prometheusHandler) buildInfo(*http.Request) (*promAnswer, error) {
	return jsonAnswer(map[string]any{
		"version": apiVersion, "revision": h.version, "branch": "", "buildUser": "varve", "buildDate": "", "goVersion": runtime.Version(), "features": map[string]string{},
	}, nil), nil
}

// exemplars serves /api/v1/query_exemplars.
func (h *prometheusHandler) exemplars(r *http.Request) (*promAnswer, error) {
	if err := h.engine.CheckQuery(r.Form.Get("query")); err != nil {
		return nil, err
	}
	return jsonAnswer([]string{}, nil), nil
}

// query serves /api/v1/query.
func (h *prometheusHandler) query(r *http.Request) (*promAnswer, error) {
	p := promParams{form: r.Form}
	q := prometheus.Query{Tenant: tenantOf(r.Context()), Text: r.Form.Get("query"), Limit: p.limit(), Start: p.time("time", h.now()), Lookback: p.lookback()}
	return h.evaluate(r, &p, q)
}

// maxSteps is the largest number of steps of a range query, as in Prometheus.
const maxSteps = 11_000

// queryRange serves /api/v1/query_range.
func (h *prometheusHandler) queryRange(r *http.Request) (*promAnswer, error) {
	p := promParams{form: r.Form}
	q := prometheus.Query{Tenant: tenantOf(r.Context()), Text: r.Form.Get("query"), Limit: p.limit()}
	q.Start, q.End = p.time("start", time.Time{}), p.time("end", time.Time{})
	if q.End.Before(q.Start) {
		p.refuse("end", errors.New("end timestamp must not be before start time"))
	}
	q.Step = p.duration("step")
	length := float64(q.End.UnixMilli()) - float64(q.Start.UnixMilli()) // may exceed the 292 years of a time.Duration
	switch {
	case q.Step <= 0:
		p.refuse("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	case q.Step < time.Millisecond:
		p.refuse("step", errors.New("query resolution step widths below a millisecond are not accepted. Try 0.001 or more"))
	case length/float64(q.Step.Milliseconds()) >= maxSteps+1 && p.err == nil:
		p.err = errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")
	}
	q.Lookback = p.lookback()
	return h.evaluate(r, &p, q)
}

func (h *prometheusHandler) evaluate(r *http.Request, p *promParams, q prometheus.Query) (*promAnswer, error) {
	ctx, cancel := p.timeout(r.Context())
	defer cancel()
	if p.err != nil {
		return nil, &prometheus.Error{Kind: prometheus.BadData, Err: p.err}
	}
	res, err := h.engine.Evaluate(ctx, q)
	if err != nil {
		return nil, err
	}
	return &promAnswer{data: res.AppendJSON, warnings: res.Warnings, infos: res.Infos, close: res.Close}, nil
}

// selection returns the parameters of a route that describes series.
func (h *prometheusHandler) selection(r *http.Request) (prometheus.Selection, error) {
	p := promParams{form: r.Form}
	all := varve.AllTime()
	s := prometheus.Selection{Tenant: tenantOf(r.Context()), Match: r.Form["match[]"], Limit: p.limit()}
	s.Window = prometheus.WindowOf(p.time("start", all.From), p.time("end", all.To))
	if p.err != nil {
		return s, &prometheus.Error{Kind: prometheus.BadData, Err: p.err}
	}
	return s, nil
}

// series serves /api/v1/series.
func (h *prometheusHandler) series(r *http.Request) (*promAnswer, error) {
	s, err := h.selection(r)
	if err == nil && len(s.Match) == 0 {
		err = &prometheus.Error{Kind: prometheus.BadData, Err: errors.New("no match[] parameter provided")}
	}
	if err != nil {
		return nil, err
	}
	list, err := h.engine.Series(r.Context(), s)
	if err != nil {
		return nil, err
	}
	return &promAnswer{warnings: list.Warnings, data: func(dst []byte) []byte {
		dst = append(dst, '[')
		for i, l := range list.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = prometheus.AppendLabels(dst, l)
		}
		return append(dst, ']')
	}}, nil
}

// labels serves /api/v1/labels.
func (h *prometheusHandler) labels(r *http.Request) (*promAnswer, error) {
	s, err := h.selection(r)
	if err != nil {
		return nil, err
	}
	list, err := h.engine.LabelNames(r.Context(), s)
	return jsonAnswer(list.Items, list.Warnings), err
}

// labelValues serves /api/v1/label/{name}/values.
func (h *prometheusHandler) labelValues(r *http.Request) (*promAnswer, error) {
	s, err := h.selection(r)
	if err != nil {
		return nil, err
	}
	list, err := h.engine.LabelValues(r.Context(), r.PathValue("name"), s)
	return jsonAnswer(list.Items, list.Warnings), err
}

type promMetadata struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// metadata serves /api/v1/metadata.
func (h *prometheusHandler) metadata(r *http.Request) (*promAnswer, error) {
	s, err := h.selection(r)
	if err != nil {
		return nil, err
	}
	only := r.Form.Get("metric")
	if only != "" {
		s.Limit = 0 // the list is only searched for the metric, so its length is not the length of the answer
	}
	list, err := h.engine.LabelValues(r.Context(), "__name__", s)
	about := map[string][]promMetadata{}
	for _, name := range list.Items {
		if only == "" || only == name {
			about[name] = []promMetadata{{Type: "gauge"}}
		}
	}
	return jsonAnswer(about, list.Warnings), err
}
