package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/varvedb/varve/api"
)

// request lets a handler answer a request, without a network connection.
func (s *server) request(h http.Handler, method, path, host, body string, head ...string) *reply {
	s.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return &reply{t: s.t, status: w.Code, header: w.Header(), body: w.Body.String()}
}

// TestGuard_AnswersConfiguredHosts checks that only requests with the name of this machine or a
// configured name are answered. A browser sends the host name of an attacker's page, which can
// resolve to 127.0.0.1.
func TestGuard_AnswersConfiguredHosts(t *testing.T) {
	s := newServer(t, nil)
	named := api.New(api.Options{
		Router: s.engine.Router, Query: s.engine.Query, Rotator: s.engine.Rotator, Lifecycle: s.engine.Store, Tables: s.engine.Store, Streams: s.engine.Streams, Devices: s.engine.Devices, Logs: s.engine.Logs, Alerts: s.engine.Alerts, Items: s.engine.Store,
		Now: s.clock, Metrics: prometheus.NewRegistry(), Hosts: []string{"varve.test"},
	})
	for _, host := range []string{"127.0.0.1", "127.0.0.1:8278", "localhost", "LOCALHOST:1", "127.9.8.7:1", "[::1]:8278", "[::1]", "::1", "[::ffff:127.0.0.1]:1", ""} {
		if r := s.request(s.api, "GET", "/v1/tables", host, ""); r.status != http.StatusOK {
			t.Errorf("%q: %d %s", host, r.status, r.body)
		}
	}
	for _, host := range []string{"evil.test", "evil.test:8278", "127.0.0.1.evil.test", "10.0.0.1:8278", "[::2]", "localhost.evil.test", "0.0.0.0", "x[", strings.Repeat("x", 999)} {
		for _, path := range []string{"/v1/tables", "/docs", "/metrics", readPath} {
			p := s.request(s.api, "GET", path, host, "").problem(http.StatusForbidden, "header.Host", "localhost")
			if len(p.Detail) > 400 {
				t.Errorf("%q", p.Detail)
			}
		}
	}
	for _, host := range []string{"varve.test", "Varve.test:80", "127.0.0.1"} {
		if r := s.request(named, "GET", "/v1/tables", host, ""); r.status != http.StatusOK {
			t.Errorf("%q: %d %s", host, r.status, r.body)
		}
	}
	s.request(named, "GET", "/v1/tables", "evil.test", "").problem(http.StatusForbidden, "header.Host", "evil.test")
}

// TestGuard_RefusesChangesByOtherSites checks that pages of other sites cannot change anything, but that
// programs, and pages of the server itself, can.
func TestGuard_RefusesChangesByOtherSites(t *testing.T) {
	s := newServer(t, nil)
	const self = "127.0.0.1:8278"
	for _, head := range [][]string{
		{"Origin", "http://evil.test"}, {"Origin", "http://127.0.0.1:3000"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:3000"}, {"Sec-Fetch-Site", "cross-site", "Origin", "http://" + self},
	} {
		for method, path := range map[string]string{"POST": writePath, "PUT": "/v1/tables/x/hold", "DELETE": "/v1/tables/x/hold"} {
			s.request(s.api, method, path, self, good(noon), head...).problem(http.StatusForbidden, "", "another site")
		}
		if r := s.request(s.api, "GET", "/v1/tables", self, "", head...); r.status != http.StatusOK {
			t.Errorf("%v: %d %s", head, r.status, r.body)
		}
	}
	for _, head := range [][]string{{}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://" + self}, {"Sec-Fetch-Site", "none"}} {
		if r := s.request(s.api, "POST", writePath, self, good(noon), head...); r.status != http.StatusOK {
			t.Errorf("%v: %d %s", head, r.status, r.body)
		}
	}
}

// TestWrites_RefuseTypesOfForms checks that the content types of HTML forms are refused. The
// exception is the default type of curl, if no browser sent it.
func TestWrites_RefuseTypesOfForms(t *testing.T) {
	s := newServer(t, nil)
	const self, form = "127.0.0.1:8278", "application/x-www-form-urlencoded"
	s.request(s.api, "POST", writePath+"?format=json", self, good(noon), "Content-Type", "text/plain", "Sec-Fetch-Site", "same-origin").
		problem(http.StatusUnsupportedMediaType, "header.Content-Type", "application/json")
	for _, media := range []string{"text/plain", "Text/Plain; charset=utf-8", "multipart/form-data; boundary=x", form + "+"} {
		s.request(s.api, "POST", writePath, self, good(noon), "Content-Type", media).problem(http.StatusUnsupportedMediaType, "header.Content-Type", "application/json")
	}
	if r := s.request(s.api, "POST", writePath, self, good(noon), "Content-Type", form); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, head := range [][]string{{"Origin", "http://" + self}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Mode", "no-cors"}} {
		s.request(s.api, "POST", writePath, self, good(noon), append(head, "Content-Type", form)...).problem(http.StatusUnsupportedMediaType, "header.Content-Type", "application/json")
	}
}

// TestJSONRoutes_RefuseTypesOfForms checks that routes for JSON refuse the content types of HTML forms,
// too. The exception is the default type of curl, if no browser sent it.
func TestJSONRoutes_RefuseTypesOfForms(t *testing.T) {
	s := newServer(t, nil)
	const self, form, path, body = "127.0.0.1:8278", "application/x-www-form-urlencoded", "/v1/devices/a", `{"name":"A"}`
	for _, media := range []string{"", "application/json", "application/json; charset=utf-8", "application/merge-patch+json", form} {
		if r := s.request(s.api, "PUT", path, self, body, "Content-Type", media); r.status != http.StatusOK {
			t.Errorf("%q: %d %s", media, r.status, r.body)
		}
	}
	for _, media := range []string{"text/plain", "multipart/form-data; boundary=x", "application/xml", "json", form + "+"} {
		s.request(s.api, "PUT", path, self, body, "Content-Type", media).problem(http.StatusUnsupportedMediaType, "header.Content-Type", "use application/json")
	}
	s.request(s.api, "PUT", path, self, body, "Sec-Fetch-Site", "same-origin", "Content-Type", form).problem(http.StatusUnsupportedMediaType, "header.Content-Type", "use application/json")
}
