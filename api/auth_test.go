package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

// TestKey_IsAcceptedInEitherHeader sends a key in the header Authorization and in X-API-Key. The word
// Bearer may be in upper or lower case. Ambiguous headers must be refused.
func TestKey_IsAcceptedInEitherHeader(t *testing.T) {
	l := newLocked(t)
	key, other := l.operator, l.keys["other admin"]
	for _, row := range []struct {
		why    string
		head   []string
		status int
	}{
		{"as RFC 6750 has it", []string{"Authorization", "Bearer " + key}, 200},
		{"schemes have no case", []string{"Authorization", "bEARER " + key}, 200},
		{"more than one blank", []string{"Authorization", "Bearer  " + key}, 200},
		{"the other header", []string{"X-API-Key", key}, 200},
		{"beside a proxy's own", []string{"Authorization", "Basic dTpw", "X-API-Key", key}, 200},
		{"without a scheme", []string{"Authorization", key}, 401},
		{"with another scheme", []string{"Authorization", "Basic " + key}, 401},
		{"with something behind it", []string{"Authorization", "Bearer " + key + " x"}, 401},
		{"twice", []string{"Authorization", "Bearer " + key, "X-API-Key", key}, 401},
		{"two keys", []string{"Authorization", "Bearer " + key, "X-API-Key", other}, 401},
		{"far too long", []string{"Authorization", "Bearer " + key + strings.Repeat("x", 30_000)}, 401},
		{"as a cookie", []string{"Cookie", "Authorization=" + key}, 401},
	} {
		if r := l.get("/v1/tables", row.head...); r.status != row.status {
			t.Errorf("%s: %d %.200s", row.why, r.status, r.body)
		}
	}
}

// TestKey_IsRefusedInAddress checks that a request with a key in its address is refused, and that the
// answer does not repeat the key. The key may be valid or not, escaped or not.
func TestKey_IsRefusedInAddress(t *testing.T) {
	l := newLocked(t)
	key := l.operator
	for _, on := range []*server{l.server, newServer(t, nil)} {
		for _, path := range []string{
			"/v1/tables?key=" + key, "/v1/tables?key=" + strings.Replace(key, "_", "%5F", 2), "/v1/tables?access_token=" + key + "&x=%zz", "/v1/keys/" + key,
			"/healthz?k=" + key, "/" + key, "/v1/streams/" + key + "/readings", "/v1/streams/weather/latest?device=" + url.QueryEscape(key),
			"/v1/streams/" + strings.Replace(key, "vk", "%76%6b", 1) + "/readings", "/v1/tables?%76%6b" + key[2:], "/v1/tables?y=%zz&x=%76%6b" + key[2:],
		} {
			r := on.get(path, "Authorization", "Bearer "+key)
			r.problem(http.StatusBadRequest, "", "Authorization")
			if strings.Contains(r.body, apikeys.IDOf(key)) {
				t.Errorf("%s is answered with %s", path, r.body)
			}
		}
	}
	if r := l.as(key, "GET", "/v1/streams/vk_gates/devices/vk_abcdefgh_1/readings", ""); r.status != http.StatusNotFound || !strings.Contains(r.body, "stream vk_gates") {
		t.Errorf("names that look a little like a key: %d %s", r.status, r.body)
	}
}

// TestFirstKey_MakesServerRequireKeys checks that the first key makes a running server require
// keys. The first key must be an operator's.
func TestFirstKey_MakesServerRequireKeys(t *testing.T) {
	s := newServer(t, nil)
	s.write(good(noon))
	json := []string{"Content-Type", "application/json"}
	s.send("POST", "/v1/keys", `{"scopes":["read"]}`, json...).problem(http.StatusBadRequest, "body.scopes", "first key")
	s.send("POST", "/v1/keys", `{"scopes":["admin"],"tenant":"acme"}`, json...).problem(http.StatusBadRequest, "body.scopes", "first key")
	if r := s.get("/v1/streams"); r.status != http.StatusOK {
		t.Fatalf("closed without a key: %s", r.body)
	}
	made := decode[wire.NewKey](s.send("POST", "/v1/keys", `{"scopes":["admin"],"name":"first"}`, json...))
	s.get("/v1/streams").problem(http.StatusUnauthorized, "", "valid API key")
	if r := s.get("/v1/streams", "Authorization", "Bearer "+made.Key); r.status != http.StatusOK || !strings.Contains(r.body, "weather") {
		t.Errorf("what was written before is not the tenant's: %d %s", r.status, r.body)
	}
}

// TestRequiredKeys_RefuseBeforeFirstKey checks that a server that requires keys refuses requests
// even before the first key exists. Only paths that never need a key are answered.
func TestRequiredKeys_RefuseBeforeFirstKey(t *testing.T) {
	s := newServer(t, nil)
	for _, registry := range []*apikeys.Registry{nil, s.engine.Keys} {
		h := api.New(api.Options{
			Router: s.engine.Router, Query: s.engine.Query, Rotator: s.engine.Rotator, Lifecycle: s.engine.Store, Tables: s.engine.Store, Streams: s.engine.Streams,
			Now: s.clock, Metrics: prometheus.NewRegistry(), Keys: registry, KeysRequired: true,
		})
		s.request(h, "GET", "/v1/tables", "varve.example.com", "").problem(http.StatusUnauthorized, "", "valid")
		s.request(h, "POST", "/v1/keys", "localhost", `{"scopes":["admin"]}`, "Content-Type", "application/json").problem(http.StatusUnauthorized, "", "valid")
		if r := s.request(h, "GET", "/healthz", "10.0.0.1", ""); r.status != http.StatusOK {
			t.Errorf("%d %.200s", r.status, r.body)
		}
	}
}

// TestKeys_PermitAnyHost checks that a server with keys accepts any host name, but refuses changes by
// pages of other sites.
func TestKeys_PermitAnyHost(t *testing.T) {
	l := newLocked(t)
	head := []string{"Authorization", "Bearer " + l.operator}
	if r := l.request(l.api, "GET", "/v1/tables", "varve.example.com", "", head...); r.status != http.StatusOK {
		t.Errorf("%d %.200s", r.status, r.body)
	}
	l.request(l.api, "GET", "/v1/tables", "varve.example.com", "").problem(http.StatusUnauthorized, "", "valid")
	l.request(l.api, "POST", writePath, "varve.example.com", good(noon), append(head, "Origin", "http://evil.test")...).problem(http.StatusForbidden, "", "another site")
}

// TestKeys_AreManagedPerTenant checks that an admin lists, creates and revokes only the keys of its
// own tenant. An operator manages the keys of all tenants.
func TestKeys_AreManagedPerTenant(t *testing.T) {
	l := newLocked(t)
	json := []string{"Content-Type", "application/json"}
	theirs := l.keys["other admin"]
	for _, k := range decode[wire.KeyList](l.as(theirs, "GET", "/v1/keys", "")).Keys {
		if k.Tenant != otherTenant {
			t.Errorf("they see %+v", k)
		}
	}
	if all := decode[wire.KeyList](l.as(l.operator, "GET", "/v1/keys", "")).Keys; len(all) != 11 {
		t.Errorf("an operator sees %d keys", len(all))
	}
	l.as(theirs, "POST", "/v1/keys", `{"scopes":["read"],"tenant":"default"}`, json...).problem(http.StatusForbidden, "", "another tenant")
	made := decode[wire.NewKey](l.as(theirs, "POST", "/v1/keys", `{"scopes":["write"],"name":"gate","expires":"2026-12-01T00:00:00Z","requests_per_second":2}`, json...))
	if made.Tenant != otherTenant || made.Name != "gate" || made.State != "active" || made.RequestsPerSecond != 2 || made.Expires == nil || !strings.HasPrefix(made.Key, "vk_"+made.ID+"_") {
		t.Errorf("%+v", made)
	}
	if r := l.as(made.Key, "POST", writePath, good(noon)); r.status != http.StatusOK {
		t.Errorf("%d %.200s", r.status, r.body)
	}
	none := l.as(theirs, "DELETE", "/v1/keys/aaaaaaaa", "")
	not := l.as(theirs, "DELETE", "/v1/keys/"+apikeys.IDOf(l.operator), "")
	if not.status != http.StatusNotFound || strings.ReplaceAll(not.body, apikeys.IDOf(l.operator), "aaaaaaaa") != none.body {
		t.Errorf("%d %s; one that is not there: %s", not.status, not.body, none.body)
	}
	if r := decode[wire.KeyInfo](l.as(theirs, "DELETE", "/v1/keys/"+made.ID, "")); r.State != "revoked" || r.Revoked == nil {
		t.Errorf("%+v", r)
	}
	l.as(made.Key, "POST", writePath, good(noon)).problem(http.StatusUnauthorized, "", "valid")
	bound := l.create(apikeys.Draft{Tenant: otherTenant, Scopes: apikeys.Admin, Rate: apikeys.Rate{Requests: 50, Readings: 9}, Expires: noon.Add(time.Hour)})
	under := decode[wire.NewKey](l.as(bound, "POST", "/v1/keys", `{"scopes":["admin"],"requests_per_second":3}`, json...))
	if under.RequestsPerSecond != 3 || under.ReadingsPerSecond != 9 || under.Expires == nil || !under.Expires.Equal(noon.Add(time.Hour)) {
		t.Errorf("made by a key with bounds: %+v", under)
	}
	for body, at := range map[string]string{
		`{"scopes":["read"],"requests_per_second":51}`: "body.requests_per_second", `{"scopes":["read"],"readings_per_second":9.5}`: "body.readings_per_second",
		`{"scopes":["read"],"expires":"2030-01-01T00:00:00Z"}`: "body.expires",
	} {
		l.as(bound, "POST", "/v1/keys", body, json...).problem(http.StatusBadRequest, at, "the key that makes it")
	}
	for body, at := range map[string]string{`{"scopes":[]}`: "body.scopes", `{"scopes":["root"]}`: "body.scopes", `{"scopes":["read"],"tenant":"a b"}`: "body.tenant", `{"scopes":["read"],"expires":"2020-01-01T00:00:00Z"}`: "body.expires", `{"scopes":["read"],"readings_per_second":-1}`: "body.readings_per_second"} {
		if p := decode[wire.Problem](l.as(l.operator, "POST", "/v1/keys", body, json...)); p.Status != http.StatusBadRequest || len(p.Errors) == 0 || p.Errors[0].Location != at {
			t.Errorf("%s: %+v", body, p)
		}
	}
}

// TestRate_LimitsOneKey checks that a key over its rate gets 429 with the time to wait, and does
// not delay other keys.
func TestRate_LimitsOneKey(t *testing.T) {
	l := newLocked(t)
	slow := l.create(apikeys.Draft{Scopes: apikeys.Read, Rate: apikeys.Rate{Requests: 0.1}})
	if r := l.as(slow, "GET", "/v1/streams", ""); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	r := l.as(slow, "GET", "/v1/tables", "")
	r.problem(http.StatusTooManyRequests, "", "rate of requests")
	if r.header.Get("Retry-After") != "10" {
		t.Errorf("wait %s", r.header.Get("Retry-After"))
	}
	if r := l.as(l.keys["read"], "GET", "/v1/streams", ""); r.status != http.StatusOK {
		t.Errorf("another key: %s", r.body)
	}
	l.advance(10 * time.Second)
	if r := l.as(slow, "GET", "/v1/streams", ""); r.status != http.StatusOK {
		t.Errorf("after ten seconds: %s", r.body)
	}

	sender := l.create(apikeys.Draft{Scopes: apikeys.Write, Rate: apikeys.Rate{Readings: 100}})
	var body strings.Builder
	for i := range 6000 { // more readings than one batch has
		fmt.Fprintln(&body, good(noon.Add(-time.Duration(i)*time.Second)))
	}
	ndjson := []string{"Content-Type", "application/x-ndjson"}
	if r := l.as(sender, "POST", writePath, body.String(), ndjson...); r.status != http.StatusOK || decode[wire.WriteAnswer](r).Stored < 5999 {
		t.Fatalf("a body is not taken whole: %d %.200s", r.status, r.body)
	}
	r = l.as(sender, "POST", writePath, good(noon), ndjson...)
	r.problem(http.StatusTooManyRequests, "", "rate of readings")
	if r.header.Get("Retry-After") != "60" {
		t.Errorf("wait %s", r.header.Get("Retry-After"))
	}
	l.advance(time.Minute)
	if r := l.as(sender, "POST", writePath, good(noon), ndjson...); r.status != http.StatusOK {
		t.Errorf("after a minute: %s", r.body)
	}
}

// TestRate_LimitsConcurrentBodies admits two bodies of one key before one of them is sent. The rate of
// the key must limit the body that is read last.
func TestRate_LimitsConcurrentBodies(t *testing.T) {
	l := newLocked(t)
	key := l.create(apikeys.Draft{Scopes: apikeys.Write, Rate: apikeys.Rate{Readings: 1}})
	in := make(chan struct{})
	body, send := io.Pipe()
	done := make(chan int)
	go func() {
		ctx := httptrace.WithClientTrace(context.WithoutCancel(t.Context()), &httptrace.ClientTrace{Got100Continue: func() { close(in) }})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL+writePath, body)
		if err != nil {
			t.Error(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + key, "Content-Type": "application/x-ndjson", "Expect": "100-continue"} {
			req.Header.Set(name, value)
		}
		resp, err := (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}).Do(req)
		if err != nil {
			t.Error(err)
			done <- 0
			return
		}
		done <- resp.StatusCode
		_ = resp.Body.Close()
	}()
	<-in
	if r := l.as(key, "POST", writePath, lines(10), "Content-Type", "application/x-ndjson"); r.status != http.StatusOK {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if _, err := io.WriteString(send, lines(10)); err != nil {
		t.Fatal(err)
	}
	_ = send.Close()
	if status := <-done; status != http.StatusTooManyRequests {
		t.Errorf("held back: %d", status)
	}
}

// TestKeys_FailClosed checks that no request with a key is admitted while the registry cannot be read,
// once the cached keys are too old.
func TestKeys_FailClosed(t *testing.T) {
	l := newLocked(t)
	l.advance(time.Minute)
	l.store.failItems(errDisk)
	if r := l.as(l.operator, "GET", "/v1/tables", ""); r.status != http.StatusInternalServerError {
		t.Errorf("%d %.200s", r.status, r.body)
	}
	if r := l.get("/healthz"); r.status != http.StatusOK {
		t.Errorf("not healthy: %d %s", r.status, r.body)
	}
	if n := l.failures(); n != 1 || !errors.Is(l.failed[0], errDisk) {
		t.Errorf("%d failures told: %v", n, l.failed)
	}
	l.store.failItems(nil)
	if r := l.as(l.operator, "GET", "/v1/tables", ""); r.status != http.StatusOK {
		t.Errorf("afterwards %d %s", r.status, r.body)
	}
	if text := l.as(l.operator, "GET", "/metrics", "").body; !strings.Contains(text, `varve_requests_refused_total{status="500"} 1`) {
		t.Error("the metrics do not count it")
	}
}

// BenchmarkDoor measures the check of a request, with a key and without keys.
func BenchmarkDoor(b *testing.B) {
	e, err := engine.Open(b.Context(), engine.Options{Store: mem.New(nil), Holder: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	h := api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Now: e.Now,
		Metrics: prometheus.NewRegistry(), Keys: e.Keys,
	})
	r := httptest.NewRequest(http.MethodGet, "http://localhost/healthz", nil)
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(&discard{http.Header{}}, r)
		}
	}
	b.Run("without", run)
	_, text, err := e.Keys.Create(b.Context(), apikeys.Draft{Scopes: apikeys.Admin})
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+text)
	b.Run("key", run)
}

// TestDocs_AskForKey checks that a browser gets the page of the documentation without a key. The
// page has no text of the OpenAPI document, and asks for a key, because /openapi.json requires one.
func TestDocs_AskForKey(t *testing.T) {
	l := newLocked(t)
	page := l.get("/docs")
	if page.status != http.StatusOK || !strings.Contains(page.body, `<input id="key" type="password"`) || strings.Contains(page.body, "/v1/") {
		t.Errorf("/docs: %d %.300s", page.status, page.body)
	}
	if root := l.get("/"); root.status != http.StatusFound && !strings.Contains(root.body, `<input id="key"`) {
		t.Errorf("/: %d %.300s", root.status, root.body)
	}
	if api := l.get("/openapi.json"); api.status != http.StatusUnauthorized {
		t.Errorf("/openapi.json without a key: %d, want 401", api.status)
	}
	if api := l.as(l.keys["other admin"], "GET", "/openapi.json", ""); api.status != http.StatusOK || !strings.Contains(api.body, "/v1/") {
		t.Errorf("/openapi.json with a key: %d, want 200", api.status)
	}
}

func (l *locked) revoke(text string) {
	l.t.Helper()
	if _, err := l.engine.Keys.Revoke(l.t.Context(), "", apikeys.IDOf(text)); err != nil {
		l.t.Fatal(err)
	}
}
