package api_test

import (
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

type locked struct {
	*server
	operator string            // an admin key of tenant default: see apikeys.Grant.Operates
	keys     map[string]string // API keys by kind of caller
}

const otherTenant = "acme"

func newLocked(t *testing.T) *locked {
	t.Helper()
	l := &locked{server: newServer(t, withRejectsAndChanges), keys: map[string]string{}}
	l.write(good(noon)) // a reading of tenant default, written before keys existed
	l.operator = l.create(apikeys.Draft{Scopes: apikeys.Admin})
	for who, scopes := range map[string]apikeys.Scopes{"read": apikeys.Read, "write": apikeys.Write, "rw": apikeys.Read | apikeys.Write, "admin": apikeys.Admin} {
		l.keys[who] = l.create(apikeys.Draft{Scopes: scopes})
		l.keys["other "+who] = l.create(apikeys.Draft{Tenant: otherTenant, Scopes: scopes})
	}
	l.keys["none"] = ""
	l.keys["wrong"] = l.operator[:len(l.operator)-1] + "~"
	l.keys["made up"] = "vk_aaaaaaaa_" + strings.Repeat("0", 43)
	l.keys["expired"] = l.create(apikeys.Draft{Scopes: apikeys.Admin, Expires: noon.Add(time.Minute)})
	l.keys["revoked"] = l.create(apikeys.Draft{Scopes: apikeys.Admin})
	l.revoke(l.keys["revoked"])
	l.advance(time.Minute)
	return l
}

func (l *locked) create(d apikeys.Draft) string {
	l.t.Helper()
	_, text, err := l.engine.Keys.Create(l.t.Context(), d)
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

// as sends a request with an API key. If the argument "key" is empty, the request has no key.
func (l *locked) as(key, method, path, body string, head ...string) *reply {
	l.t.Helper()
	if key != "" {
		head = append(head, "Authorization", "Bearer "+key)
	}
	return l.send(method, path, body, head...)
}

// TestAccess_AnswersEachCaller checks the answer of each route to each caller of the map access.
// All callers without a valid key get the same answer, except on the routes of InfluxDB, Prometheus and
// Firehose. A route without a line in the map fails the test.
func TestAccess_AnswersEachCaller(t *testing.T) {
	l := newLocked(t)
	callers := [][]string{{"none", "wrong", "made up", "expired", "revoked"}, {"read"}, {"write"}, {"rw"}, {"admin"}, {"other read"}, {"other write"}, {"other admin"}}
	name := thisTable(l.server).Name()
	for _, route := range routes {
		want := access[route.pattern]
		if len(want) != len(callers) {
			t.Errorf("%s has no line in the table", route.pattern)
			continue
		}
		method, _, _ := strings.Cut(route.pattern, " ")
		path := strings.ReplaceAll(route.path, "{table}", name)
		body := route.body
		refusal := ""
		for i, some := range callers {
			for _, who := range some {
				if strings.HasPrefix(who, "other") {
					body = strings.ReplaceAll(body, `"d1"`, `"d9"`) // the other tenant has no d1
				}
				r := l.as(l.keys[who], method, path, body, "Content-Type", "application/json")
				if r.status != want[i] {
					t.Errorf("%s gets %d of %s, want %d: %.200s", who, r.status, route.pattern, want[i], r.body)
				}
				if method == http.MethodGet {
					if head := l.as(l.keys[who], http.MethodHead, path, ""); head.status != r.status || head.body != "" {
						t.Errorf("%s gets %d %q of HEAD %s", who, head.status, head.body, path)
					}
				}
				if r.status != http.StatusUnauthorized {
					continue
				}
				if isInflux(path) {
					r.influxError(http.StatusUnauthorized, "unauthorized", "valid API key")
					continue
				}
				if strings.HasPrefix(path, "/v1/aws/firehose") || isProm(path) {
					continue // TestFirehose_TakesAccessKey and TestPrometheus_SeparatesTenants check the answer
				}
				r.header.Del("Date")
				if said := r.body + strings.Join(slices.Sorted(maps.Keys(r.header)), " "); refusal == "" {
					refusal = said
				} else if said != refusal {
					t.Errorf("%s is told of %s: %s; and another %s", who, route.pattern, said, refusal)
				}
				if r.header.Get("WWW-Authenticate") != `Bearer realm="varve"` {
					t.Errorf("%v", r.header)
				}
				r.problem(http.StatusUnauthorized, "", "valid API key")
			}
		}
	}
	for _, pattern := range l.api.Routes() {
		if _, ok := access[pattern]; !ok {
			t.Errorf("route %s has no line in the table", pattern)
		}
	}
	if len(access) != len(l.api.Routes()) || len(routes) != len(access) {
		t.Errorf("%d lines, %d routes, %d requests", len(access), len(l.api.Routes()), len(routes))
	}
}

// TestUnlistedRoute_RequiresOperator checks that a route without an entry in accesses requires an
// operator's key.
func TestUnlistedRoute_RequiresOperator(t *testing.T) {
	l := newLocked(t)
	l.api.HandleFunc("GET /v1/fresh", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for who, want := range map[string]int{"none": 401, "revoked": 401, "read": 403, "rw": 403, "other admin": 403, "admin": 200} {
		if r := l.as(l.keys[who], "GET", "/v1/fresh", ""); r.status != want {
			t.Errorf("%s gets %d, want %d", who, r.status, want)
		}
	}
}

// TestUnknownPath_RequiresKey checks that an unknown path requires a key, too, with any method.
// Paths that only begin like /healthz, /readyz or /docs require a key, too, although these three do
// not.
func TestUnknownPath_RequiresKey(t *testing.T) {
	l := newLocked(t)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"} {
		for _, path := range []string{"/nothing", "/v1", "/v1/tables", readPath, "/v1/keys", "/docs/", "/openapi.json", "//v1/tables", "/healthz/", "/healthz/../v1/tables", "/readyz%2f..%2fv1/tables", "/%76%31/tables", "/v1/tables/"} {
			if r := l.send(method, path, ""); r.status != http.StatusUnauthorized {
				t.Errorf("%s %s: %d %s", method, path, r.status, r.body)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/docs", "/%68ealthz"} {
		if r := l.get(path); r.status != http.StatusOK {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	l.send("POST", "/healthz", "").problem(http.StatusMethodNotAllowed, "", "GET")
	l.as(l.operator, "GET", "/nothing", "").problem(http.StatusNotFound, "", "/docs")
	l.as(l.operator, "OPTIONS", "/v1/tables", "").problem(http.StatusMethodNotAllowed, "", "GET")
	if r := l.as(l.keys["write"], "HEAD", readPath, ""); r.status != http.StatusForbidden {
		t.Errorf("HEAD without the scope: %d", r.status)
	}
}

// TestTenants_AreSeparate checks that two tenants with the same names of streams and devices never
// see each other's data. It covers queries, latest readings, lists of streams, and cursors.
func TestTenants_AreSeparate(t *testing.T) {
	l := newLocked(t)
	ours, theirs := l.keys["rw"], l.keys["other rw"]
	for i, v := range []string{"1", "2", "3"} {
		body := `{"device":"d1","time":"` + noon.Add(time.Duration(i)*time.Second).Format(time.RFC3339) + `","fields":{"secret":` + v + `}}`
		if r := l.as(theirs, "POST", writePath, body, "Content-Type", "application/json"); r.status != http.StatusOK {
			t.Fatal(r.body)
		}
	}
	l.as(theirs, "POST", "/v1/streams/vault/readings", `{"device":"v","time":"2026-11-18T11:00:00Z","fields":{"secret":4}}`)
	for _, path := range []string{readPath, latestPath, "/v1/streams/weather/latest?device=d1", "/v1/streams", readPath + "?format=csv", readPath + "?explain=true"} {
		if r := l.as(ours, "GET", path, ""); r.status != http.StatusOK || strings.Contains(r.body, "secret") || strings.Contains(r.body, "vault") {
			t.Errorf("%s shows another tenant's: %d %s", path, r.status, r.body)
		}
		if r := l.as(theirs, "GET", path, ""); strings.Contains(r.body, `"a"`) || strings.Contains(r.body, ",a\n") {
			t.Errorf("%s shows another tenant's: %s", path, r.body)
		}
	}
	l.as(ours, "POST", "/v1/streams/mine/readings", good(noon))
	for who, want := range map[string]string{ours: "mine weather", theirs: "vault weather"} {
		var names []string
		for _, st := range decode[wire.StreamList](l.as(who, "GET", "/v1/streams", "")).Streams {
			names = append(names, st.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("streams %s, want %s", got, want)
		}
	}
	for path, want := range map[string]string{readPath: `"secret":3`, latestPath: `"secret":3`, "/v1/streams/weather/latest?device=d1": `"secret":3`} {
		if r := l.as(theirs, "GET", path, ""); r.status != http.StatusOK || !strings.Contains(r.body, want) {
			t.Errorf("%s does not show them their own: %d %s", path, r.status, r.body)
		}
	}
	same := func(a, b string) {
		t.Helper()
		one, two := l.as(ours, "GET", a, ""), l.as(ours, "GET", b, "")
		name := strings.NewReplacer("vault", "S", "nowhere", "S", `"v"`, "D", `"nobody"`, "D", `\"v\"`, "D", `\"nobody\"`, "D")
		if one.status != two.status || name.Replace(one.body) != name.Replace(two.body) {
			t.Errorf("%s: %d %s\n%s: %d %s", a, one.status, one.body, b, two.status, two.body)
		}
	}
	same("/v1/streams/vault/devices/v/readings", "/v1/streams/nowhere/devices/nobody/readings")
	same("/v1/streams/vault/devices/v/latest", "/v1/streams/nowhere/devices/nobody/latest")
	same("/v1/streams/vault/latest?device=v", "/v1/streams/nowhere/latest?device=nobody")
	same("/v1/streams/vault/devices/v/readings?explain=true", "/v1/streams/nowhere/devices/nobody/readings?explain=true")

	page := decode[wire.ReadingsBody](l.as(theirs, "GET", readPath+"?limit=1", ""))
	if page.Next == "" {
		t.Fatal("no cursor")
	}
	l.as(ours, "GET", with(readPath, "limit", "1", "cursor", page.Next), "").problem(http.StatusBadRequest, "query.cursor", "belongs to another query")
	if r := l.as(theirs, "GET", with(readPath, "limit", "1", "cursor", page.Next), ""); r.status != http.StatusOK {
		t.Errorf("their own cursor: %s", r.body)
	}
}

// TestTables_HideOtherTenants checks that answers from shared tables do not reveal whether, or for which
// times, another tenant has readings.
func TestTables_HideOtherTenants(t *testing.T) {
	l := newLocked(t)
	theirs := l.keys["other rw"]
	paths := []string{
		readPath, readPath + "?format=csv", readPath + "?format=ndjson", readPath + "?format=arrow", readPath + "?during=1999", "/v1/streams/weather/latest?device=d1",
	}
	answers := func() (all []string) {
		for _, path := range paths {
			r := l.as(theirs, "GET", path, "")
			if r.status != http.StatusOK || strings.Contains(r.body, "varve_") || r.trailer.Get("Varve-Coverage") != "" {
				t.Errorf("%s: %d %s %v", path, r.status, r.body, r.trailer)
			}
			all = append(all, r.body)
		}
		return all
	}
	body := `{"device":"d1","time":"2026-11-18T10:00:00Z","fields":{"v":1}}`
	if r := l.as(theirs, "POST", writePath, body, "Content-Type", "application/json"); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	before := answers()
	for _, at := range []string{"1999-05-01T00:00:00Z", "2026-11-18T11:00:00Z"} {
		body := `{"device":"d1","time":"` + at + `","fields":{"v":1}}`
		if r := l.as(l.keys["rw"], "POST", writePath, body, "Content-Type", "application/json"); r.status != http.StatusOK {
			t.Fatal(r.body)
		}
	}
	if after := answers(); !slices.Equal(before, after) {
		t.Errorf("before another tenant wrote: %q, after: %q", before, after)
	}
	l.as(theirs, "GET", readPath+"?explain=true", "").problem(http.StatusForbidden, "", "key of tenant default")
	if r := l.as(l.keys["read"], "GET", readPath+"?format=csv", ""); !strings.Contains(r.trailer.Get("Varve-Coverage"), "varve_") {
		t.Errorf("an operator's coverage: %v", r.trailer)
	}
}

func TestOpenAPI_StatesRequiredKeys(t *testing.T) {
	l := newLocked(t)
	doc := decode[struct {
		Paths map[string]map[string]struct {
			Security    []map[string][]string
			Description string
		}
		Components struct{ SecuritySchemes map[string]map[string]string }
	}](l.as(l.operator, "GET", "/openapi.json", ""))
	if doc.Components.SecuritySchemes["key"]["scheme"] != "bearer" || doc.Components.SecuritySchemes["basic"]["scheme"] != "basic" {
		t.Errorf("%v", doc.Components)
	}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			if accessOf := access[strings.ToUpper(method)+" "+path]; accessOf[0] != http.StatusUnauthorized {
				continue // the operation requires no key
			}
			want := "[map[key:[]]]"
			if isInflux(path) {
				want = "[map[key:[]] map[basic:[]]]"
			}
			if fmt.Sprint(op.Security) != want || !strings.Contains(op.Description, "Takes a") {
				t.Errorf("%s %s: %+v, want the keys %s", method, path, op, want)
			}
		}
	}
}
