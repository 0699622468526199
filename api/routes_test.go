package api_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve/rotator"
)

// routes has a line for every route: a request, and the status and the media type of its answer.
// {table} means a table of this month.
var routes = []struct {
	pattern, path, body string
	status              int
	media               string
}{
	{"POST /v1/streams/{stream}/readings", writePath, good(noon), 200, "application/json"},
	{"POST /v1/readings", "/v1/readings?format=line", "weather,device=line a=1", 200, "application/json"},
	{"POST /write", "/write?db=x", "weather,device=line a=1", 204, ""},
	{"POST /api/v2/write", "/api/v2/write?bucket=x", "weather,device=line a=1", 204, ""},
	{"POST /api/v3/write_lp", "/api/v3/write_lp?db=x", "weather,device=line a=1", 204, ""},
	{"POST /v1/aws/firehose", "/v1/aws/firehose?stream=weather", `{"requestId":"r","timestamp":1,"records":[]}`, 200, "application/json"},
	{"POST /v1/aws/iot/{stream}", "/v1/aws/iot/weather", good(noon), 200, "application/json"},
	{"POST /v1/aws/iot", "/v1/aws/iot", "{}", 400, "application/problem+json"},
	{"POST /v1/aws/iot/{$}", "/v1/aws/iot/?confirmationToken=x", "{}", 400, "application/problem+json"},
	{"GET /query", "/query?q=SHOW+DATABASES", "", 200, "application/json"},
	{"POST /query", "/query?q=SHOW+DATABASES", "", 200, "application/json"},
	{"GET /ping", "/ping", "", 204, ""},
	{"GET /health", "/health", "", 200, "application/json"},
	{"GET /ready", "/ready", "", 200, "application/json"},
	{"GET /api/v2/ready", "/api/v2/ready", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/devices/{device}/readings", readPath, "", 200, "application/json"},
	{"GET /v1/streams/{stream}/devices/{device}/latest", latestPath, "", 200, "application/json"},
	{"GET /v1/streams/{stream}/latest", "/v1/streams/weather/latest?device=d1", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/devices/{device}/aggregate", "/v1/streams/weather/devices/d1/aggregate?step=5m", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/aggregate", "/v1/streams/weather/aggregate?step=5m", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/devices/{device}/rollups", rollupsPath + "?period=daily", "", 200, "application/json"},
	{"POST /v1/streams/{stream}/devices/{device}/rollups", rollupsPath, "", 200, "application/json"},
	{"GET /v1/streams", "/v1/streams", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/devices", "/v1/streams/weather/devices", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/series", "/v1/streams/weather/series", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/devices/{device}/digests", "/v1/streams/weather/devices/d1/digests?receipt=true", "", 200, "application/json"},
	{"POST /v1/streams/{stream}/devices/{device}/digests", "/v1/streams/weather/devices/d1/digests", `{"period":"daily","spans":[{"from":"2026-11-18T00:00:00Z","digests":["AAAAAAAB"]}]}`, 200, "application/json"},
	{"GET /v1/receipts/key", "/v1/receipts/key", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/arrivals", "/v1/streams/weather/arrivals", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/devices/{device}/arrivals", "/v1/streams/weather/devices/d1/arrivals", "", 200, "application/json"},
	{"GET /v1/streams/{stream}/counts", "/v1/streams/weather/counts", "", 200, "application/json"},
	{"PUT /v1/streams/{stream}/devices/{device}/shards", "/v1/streams/weather/devices/a/shards", `{"shards":4}`, 200, "application/json"},
	{"GET /v1/tables", "/v1/tables", "", 200, "application/json"},
	{"GET /v1/devices/{device}/erasure-plan", "/v1/devices/a/erasure-plan", "", 200, "application/json"},
	{"POST /v1/devices/{device}/erasures", "/v1/devices/a/erasures?plan=x", "", 400, "application/problem+json"},
	{"GET /v1/erasures", "/v1/erasures", "", 200, "application/json"},
	{"GET /v1/erasures/{id}", "/v1/erasures/x", "", 404, "application/problem+json"},
	{"GET /v1/archives", "/v1/archives", "", 200, "application/json"},
	{"POST /v1/archives/{name}", "/v1/archives/{table}", "", 409, "application/problem+json"},
	{"POST /v1/archives/{name}/verify", "/v1/archives/{table}/verify", "", 409, "application/problem+json"},
	{"POST /v1/archives/{name}/restore", "/v1/archives/{table}/restore", "", 409, "application/problem+json"},
	{"GET /v1/archives/{name}/accept-plan", "/v1/archives/{table}/accept-plan", "", 409, "application/problem+json"},
	{"POST /v1/archives/{name}/accept", "/v1/archives/{table}/accept?plan=0123456789abcdef", "", 409, "application/problem+json"},
	{"PUT /v1/archives/{name}/hold", "/v1/archives/{table}/hold", `{"reason":"audit"}`, 409, "application/problem+json"},
	{"DELETE /v1/archives/{name}/hold", "/v1/archives/{table}/hold", "", 409, "application/problem+json"},
	{"POST /v1/verify", "/v1/verify", "", 200, "application/x-ndjson"},
	{"POST /v1/snapshots", "/v1/snapshots", "", 409, "application/problem+json"},
	{"GET /v1/tables/calendar", "/v1/tables/calendar?years=1", "", 200, "application/json"},
	{"POST /v1/tables/calendar", "/v1/tables/calendar?years=1", policyBody, 200, "application/json"},
	{"GET /v1/tables/plan", "/v1/tables/plan", "", 200, "application/json"},
	{"GET /v1/tables/{name}/arrivals", "/v1/tables/{table}/arrivals", "", 200, "application/json"},
	{"POST /v1/tables/apply", "/v1/tables/apply", "", 200, "application/json"},
	{"PUT /v1/tables/{name}/hold", "/v1/tables/{table}/hold", `{"reason":"audit"}`, 200, "application/json"},
	{"DELETE /v1/tables/{name}/hold", "/v1/tables/{table}/hold", "", 200, "application/json"},
	{"POST /v1/tables/{name}/restore", "/v1/tables/{table}/restore", "", 409, "application/problem+json"},
	{"GET /v1/devices", "/v1/devices", "", 200, "application/json"},
	{"GET /v1/device-health", "/v1/device-health?search=d1&window=7d", "", 200, "application/json"},
	{"PUT /v1/devices/{device}", "/v1/devices/d1", `{"name":"Warehouse Temp A"}`, 200, "application/json"},
	{"GET /v1/devices/{device}", "/v1/devices/d1", "", 200, "application/json"},
	{"GET /v1/devices/{device}/why", "/v1/devices/d1/why?time=2026-11-18T12:00:00Z", "", 200, "application/json"},
	{"POST /v1/devices/{device}/logs", "/v1/devices/d1/logs", `{"time":"2026-11-18T12:00:00Z","state":"WARNING"}`, 200, "application/json"},
	{"GET /v1/devices/{device}/logs", "/v1/devices/d1/logs", "", 200, "application/json"},
	{"GET /v1/operators/{operator}/logs", "/v1/operators/Liz/logs", "", 200, "application/json"},
	{"GET /v1/supervisors/{supervisor}/escalations", "/v1/supervisors/Sara/escalations", "", 200, "application/json"},
	{"POST /v1/alert-rules", "/v1/alert-rules", `{"id":"hot","stream":"weather","field":"a","comparison":">","threshold":5,"severity":"critical"}`, 200, "application/json"},
	{"GET /v1/alert-rules", "/v1/alert-rules", "", 200, "application/json"},
	{"POST /v1/alert-rules/preview", "/v1/alert-rules/preview", `{"stream":"weather","field":"a","comparison":">","threshold":5,"severity":"critical"}`, 200, "application/json"},
	{"GET /v1/alert-rules/{rule}", "/v1/alert-rules/hot", "", 200, "application/json"},
	{"PUT /v1/alert-rules/{rule}", "/v1/alert-rules/hot", `{"stream":"weather","field":"a","comparison":">","threshold":6,"severity":"critical"}`, 200, "application/json"},
	{"POST /v1/alert-rules/{rule}/mute", "/v1/alert-rules/hot/mute", `{"for":"2h"}`, 200, "application/json"},
	{"DELETE /v1/alert-rules/{rule}/mute", "/v1/alert-rules/hot/mute", "", 200, "application/json"},
	{"DELETE /v1/alert-rules/{rule}", "/v1/alert-rules/hot", "", 200, "application/json"},
	{"GET /v1/devices/{device}/alerts", "/v1/devices/d1/alerts", "", 200, "application/json"},
	{"DELETE /v1/devices/{device}", "/v1/devices/d1", "", 200, "application/json"},
	{"GET /v1/alerts", "/v1/alerts?severity=critical", "", 200, "application/json"},
	{"GET /v1/alerts/deliveries", "/v1/alerts/deliveries?state=failed", "", 200, "application/json"},
	{"GET /v1/rejects", "/v1/rejects", "", 200, "application/json"},
	{"DELETE /v1/rejects", "/v1/rejects?stream=none", "", 200, "application/json"},
	{"POST /v1/rejects/replay", "/v1/rejects/replay", `{"select":{"stream":"none"}}`, 200, "application/json"},
	{"GET /v1/rejects/{id}", "/v1/rejects/none", "", 404, "application/problem+json"},
	{"DELETE /v1/rejects/{id}", "/v1/rejects/none", "", 200, "application/json"},
	{"POST /v1/rejects/{id}/replay", "/v1/rejects/none/replay", `{}`, 404, "application/problem+json"},
	{"GET /v1/alerts/{id}", "/v1/alerts/nothing", "", 404, "application/problem+json"},
	{"POST /v1/alerts/resolve", "/v1/alerts/resolve", `{"all":true}`, 200, "application/json"},
	{"POST /v1/alerts/{id}/acknowledge", "/v1/alerts/nothing/acknowledge", `{"by":"ann"}`, 404, "application/problem+json"},
	{"POST /v1/alerts/{id}/mute", "/v1/alerts/nothing/mute", `{"for":"2h"}`, 404, "application/problem+json"},
	{"DELETE /v1/alerts/{id}/mute", "/v1/alerts/nothing/mute", "", 404, "application/problem+json"},
	{"POST /v1/alerts/{id}/resolve", "/v1/alerts/nothing/resolve", "", 404, "application/problem+json"},
	{"GET /v1/mqtt", "/v1/mqtt", "", 200, "application/json"},
	{"GET /v1/settings", "/v1/settings", "", 200, "application/json"},
	{"GET /v1/keys", "/v1/keys", "", 200, "application/json"},
	{"DELETE /v1/keys/{id}", "/v1/keys/aaaaaaaa", "", 404, "application/problem+json"},
	{"GET /healthz", "/healthz", "", 200, "text/plain; charset=utf-8"},
	{"GET /readyz", "/readyz", "", 200, "application/json"},
	{"GET /metrics", "/metrics", "", 200, "text/plain"},
	{"GET /docs", "/docs", "", 200, "text/html; charset=utf-8"},
	{"GET /ui", "/ui", "", 200, "text/html; charset=utf-8"},
	{"GET /ui/{path...}", "/ui/tables", "", 200, "text/html; charset=utf-8"},
	{"GET /v1/arrivals", "/v1/arrivals", "", 200, "application/json"},
	{"GET /v1/grant", "/v1/grant", "", 200, "application/json"},
	{"GET /{$}", "/", "", 302, "text/html; charset=utf-8"},
	{"GET /openapi.json", "/openapi.json", "", 200, "application/openapi+json"},
	{"GET /openapi.yaml", "/openapi.yaml", "", 200, "application/openapi+yaml"},
	{"GET /openapi-3.0.json", "/openapi-3.0.json", "", 200, "application/openapi+json"},
	{"GET /openapi-3.0.yaml", "/openapi-3.0.yaml", "", 200, "application/openapi+yaml"},
	{"GET /schemas/{schema}", "/schemas/TableList.json", "", 200, "application/json"},
	// This route must be the last one: once a key exists, most other routes require a key.
	{"POST /v1/keys", "/v1/keys", `{"scopes":["admin"]}`, 200, "application/json"},
}

// TestRoutes_Answer checks that each route answers. A route without a line in routes fails the test.
func TestRoutes_Answer(t *testing.T) {
	s := newServer(t, withChanges)
	name := thisTable(s).Name()
	for _, route := range routes {
		method, _, _ := strings.Cut(route.pattern, " ")
		head := []string{"Content-Type", "application/json"}
		r := s.send(method, strings.ReplaceAll(route.path, "{table}", name), route.body, head...)
		if r.status != route.status || !strings.HasPrefix(r.header.Get("Content-Type"), route.media) || r.body == "" != (route.status == 204) {
			t.Errorf("%s: %d %s %.200q", route.pattern, r.status, r.header.Get("Content-Type"), r.body)
		}
		if route.media == "application/json" && !json.Valid([]byte(r.body)) {
			t.Errorf("%s: not JSON: %.200q", route.pattern, r.body)
		}
	}
	var tested []string
	for _, route := range routes {
		tested = append(tested, route.pattern)
	}
	for _, pattern := range s.api.Routes() {
		if !slices.Contains(tested, pattern) {
			t.Errorf("route %s has no line in the table", pattern)
		}
	}
	if len(tested) != len(s.api.Routes()) {
		t.Errorf("%d lines, %d routes", len(tested), len(s.api.Routes()))
	}
}

// TestOpenAPI_DescribesRoutes checks that every operation in the OpenAPI document is a route, every
// route below /v1 is described, and each parameter has a description.
func TestOpenAPI_DescribesRoutes(t *testing.T) {
	s := newServer(t, withChanges)
	type param struct {
		Name, In, Description string
		Schema                map[string]any
	}
	doc := decode[struct {
		OpenAPI string `json:"openapi"`
		Info    struct{ Title, Version string }
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Summary     string
			Parameters  []param
			Responses   map[string]any
		}
	}](s.get("/openapi.json"))
	if !strings.HasPrefix(doc.OpenAPI, "3.1") || doc.Info.Title != "Varve" || doc.Info.Version != "v1.2.3" {
		t.Errorf("%s %+v", doc.OpenAPI, doc.Info)
	}
	described := map[string]bool{}
	ids := map[string]bool{}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			pattern := strings.ToUpper(method) + " " + path
			described[pattern] = true
			if !slices.Contains(s.api.Routes(), pattern) {
				t.Errorf("%s is described, and no route", pattern)
			}
			if op.Summary == "" || op.OperationID == "" || ids[op.OperationID] || op.Responses["default"] == nil || op.Responses["200"] == nil && op.Responses["204"] == nil {
				t.Errorf("%s: %+v", pattern, op)
			}
			ids[op.OperationID] = true
			for _, p := range op.Parameters {
				if p.Name == "" || p.Description == "" || p.Schema == nil || p.In == "path" && !strings.Contains(path, "{"+p.Name+"}") {
					t.Errorf("%s: parameter %+v", pattern, p)
				}
			}
		}
	}
	for _, pattern := range s.api.Routes() {
		if strings.Contains(pattern, " /v1/") && !described[strings.TrimSuffix(pattern, "/{$}")] {
			t.Errorf("%s is not described", pattern)
		}
	}
}

// TestOpenAPI_DescribesAcceptedParameters checks that the server accepts every query parameter in
// the document, and refuses any other by name.
func TestOpenAPI_DescribesAcceptedParameters(t *testing.T) {
	s := newServer(t, withChanges)
	values := map[string]string{
		"precision": "ms", "timezone": "Europe/Berlin", "device": "d1", "columns": "time,a", "types": "a:number", "delimiter": "tab", "from": "-24h", "to": "now",
		"order": "desc", "limit": "1", "consistent": "true", "versions": "true", "explain": "true", "format": "json", "by": "arrival", "at": "+1d", "period": "daily",
		"status": "active", "during": "2026-11", "severity": "critical", "state": "open", "damaged": "skip", "rate": "1",
		"step": "1h", "functions": "mean,max", "fill": "null", "source": "rollups", "group": "none", "top": "3&top_by=max&top_field=a",
		"top_by": "max&top=3&top_field=a", "top_field": "a&top=3&top_by=max", "silent_since": "-1h", "since": "-1h",
		"name_column": "x&value_column=y", "value_column": "y&name_column=x", "decimal": ".", "bad_cells": "skip", "dst": "later", "post time": "arrival", "fields": "flat",
		"where": "a>0", "attribute": "site:north", "as_of": "now", "archive": "false", "wait": "0s", "settle": "0s", "window": "7d", "receipt": "true", "scan_limit": "5&where=a=1", "numbers": "float&format=arrow",
		"years": "1", "readings_per_day": "default=5", "plan": (&rotator.Plan{}).Digest(), "stream": "weather",
	}
	doc := decode[struct {
		Paths map[string]map[string]struct{ Parameters []struct{ Name, In string } }
	}](s.get("/openapi.json"))
	s.write(good(noon))
	s.send(http.MethodPost, "/v1/alert-rules", `{"id":"x","stream":"weather","field":"a","comparison":">","threshold":1,"severity":"info"}`)
	path := strings.NewReplacer("{stream}", "weather", "{device}", "d1", "{name}", thisTable(s).Name())
	for template, ops := range doc.Paths {
		if template == "/healthz" || template == "/readyz" || isInflux(template) || isProm(template) || template == "/v1/aws/iot" || template == "/v1/aws/firehose" {
			continue // other forms of errors and parameters: see the tests of these doors; health routes ignore parameters
		}
		if template == "/v1/devices/{device}/erasures" || template == "/v1/archives/{name}/accept" {
			continue // a request needs the digest of a plan; the routes of the plans, which have the other parameters, are checked
		}
		for method, op := range ops {
			base := path.Replace(template) + "?"
			base, body := describedRequest(base, template, method, values)
			s.send(strings.ToUpper(method), base+"color=red", body).problem(http.StatusBadRequest, "query.color", "color")
			for _, p := range op.Parameters {
				if p.In != "query" || p.Name == "cursor" {
					continue
				}
				value := cmp.Or(values[method+" "+p.Name], values[p.Name], "x")
				if r := s.send(strings.ToUpper(method), base+p.Name+"="+value, body); r.status != http.StatusOK {
					t.Errorf("%s %s with %s=%s: %d %s", method, template, p.Name, value, r.status, r.body)
				}
			}
		}
	}
}

// TestRoutes_RefuseOtherMethods checks that a wrong method gets 405 with the allowed ones, an
// unknown path 404, and HEAD an empty body.
func TestRoutes_RefuseOtherMethods(t *testing.T) {
	s := newServer(t, withChanges)
	s.write(good(noon))
	rows := []struct{ method, path, allow string }{
		{"DELETE", writePath, "POST"}, {"PUT", readPath, "GET"}, {"POST", "/healthz", "GET"}, {"POST", "/v1/tables", "GET"},
		{"GET", "/v1/tables/apply", "POST"}, {"POST", "/v1/tables/x/hold", "PUT, DELETE"}, {"GET", writePath, "POST"}, {"PATCH", latestPath, "GET"},
	}
	for _, row := range rows {
		r := s.send(row.method, row.path, "")
		r.problem(http.StatusMethodNotAllowed, "", row.method)
		if got := r.header.Get("Allow"); got != row.allow {
			t.Errorf("%s %s allows %q, want %q", row.method, row.path, got, row.allow)
		}
	}
	for _, path := range []string{"/v1", "/v1/streams/weather", "/nothing", "/v1/streams/weather/devices/d1", "/v2/tables"} {
		s.get(path).problem(http.StatusNotFound, "", "/docs")
	}
	for _, path := range []string{readPath, latestPath, "/healthz", "/readyz", "/v1/tables", "/openapi.json"} {
		r, whole := s.send(http.MethodHead, path, ""), s.get(path)
		if r.status != whole.status || r.body != "" || r.header.Get("Content-Type") != whole.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %q", path, r.status, r.body)
		}
	}
	if r := s.get("/"); r.header.Get("Location") != "/ui" {
		t.Errorf("%d %s", r.status, r.header.Get("Location"))
	}
	if r := s.get("/docs"); !strings.Contains(r.header.Get("Content-Security-Policy"), "default-src 'none'") || !strings.Contains(r.body, "openapi.json") {
		t.Error(r.header)
	}
}

// TestSecurityHeaders_AreSet checks the headers that stop a browser from guessing content types, and
// from showing the documentation in a frame of another page.
func TestSecurityHeaders_AreSet(t *testing.T) {
	s := newServer(t, withChanges)
	for _, path := range []string{"/docs", "/", "/healthz", "/metrics", "/openapi.json", readPath, "/v1/devices", "/nothing", "/v1/keys?x=1"} {
		for _, r := range []*reply{s.get(path), s.get(path, "Host", "elsewhere"), s.send("DELETE", path, ""), s.send("OPTIONS", path, "")} {
			if r.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %v", path, r.status, r.header)
			}
		}
	}
	if got := s.get("/docs").header.Get("Content-Security-Policy"); !strings.Contains(got, "frame-ancestors 'none'") {
		t.Error(got)
	}
}

// TestMessages_AreNotEscapedForHTML checks that messages with quoted addresses are readable.
func TestMessages_AreNotEscapedForHTML(t *testing.T) {
	s := newServer(t, withChanges)
	for _, path := range []string{with("/v1/streams/weather/latest", "limit", "<&>"), readPath + "?from=%3C%26%3E", "/v1/devices?limit=%26"} {
		if r := s.get(path); strings.Contains(r.body, `\u00`) || !strings.ContainsAny(r.body, "&<") {
			t.Errorf("%s: %s", path, r.body)
		}
	}
}
