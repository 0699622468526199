package api_test

import (
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/grid"
	"net/http"
	"strings"
	"testing"
	"time"
)

func (s *server) rule(body string) wire.RuleAnswer {
	s.t.Helper()
	r := s.send(http.MethodPost, "/v1/alert-rules", body, "Content-Type", "application/json")
	if r.status != http.StatusOK {
		s.t.Fatalf("%d %s", r.status, r.body)
	}
	return decode[wire.RuleAnswer](r)
}

const hot = `{"stream":"weather","field":"v","comparison":">","threshold":30.50,"for":"2h","severity":"critical"}`

// measured returns a reading of device d1, the given number of hours before noon. Its field v has the
// value v.
func measured(hours, v int) string {
	return fmt.Sprintf(`{"device":"d1","time":%q,"fields":{"v":%d}}`, noon.Add(-time.Duration(hours)*time.Hour).Format(time.RFC3339), v)
}

// TestAlerts_AreRaisedOnceBeforeAnswer checks that stored readings raise each alert once, by event
// time, before the write is answered. A reading, or a request, must resolve an open alert.
func TestAlerts_AreRaisedOnceBeforeAnswer(t *testing.T) {
	s := newServer(t, nil)
	a := s.rule(hot)
	if a.Verdict != "stored" || string(a.Rule.Threshold) != "30.50" && string(a.Rule.Threshold) != "30.5" || a.Rule.For != "2h" || a.Rule.Kind != "value" {
		t.Errorf("%+v %s", a, a.Rule.Threshold)
	}
	if again := s.rule(hot); again.Verdict != "duplicate" || again.Rule.ID != a.Rule.ID {
		t.Errorf("%+v", again)
	}
	s.write(measured(5, 31), measured(4, 32))
	if r := s.get("/v1/alerts"); !strings.Contains(r.body, `"alerts":[]`) {
		t.Errorf("too soon: %s", r.body)
	}
	s.write(measured(3, 33))
	list := decode[wire.AlertList](s.get("/v1/alerts?severity=critical")).Alerts
	if len(list) != 1 || list[0].State != "open" || list[0].Message != "v > 30.5 for 2h" && list[0].Message != "v > 30.50 for 2h" || string(list[0].Value) != "33" ||
		!list[0].Since.Equal(noon.Add(-5*time.Hour)) || !list[0].OpenedAt.Equal(noon.Add(-3*time.Hour)) || list[0].ResolvedAt != nil || !list[0].Late {
		t.Fatalf("%+v", list)
	}
	s.send(http.MethodPost, writePath, measured(3, 33)) // resends a stored reading
	s.write(measured(1, 10))
	list = decode[wire.AlertList](s.get("/v1/devices/d1/alerts")).Alerts
	if len(list) != 1 || list[0].State != "resolved" || list[0].ResolvedBy != "condition" || !list[0].ResolvedAt.Equal(noon.Add(-time.Hour)) {
		t.Fatalf("%+v", list)
	}
	s.listed(map[string]int{"": 1, "?state=resolved": 1, "?state=open": 0})
	s.write(measured(0, 40), measured(-2, 40))
	s.listed(map[string]int{"": 2, "?state=resolved": 1, "?state=open": 1})
	first := decode[wire.AlertList](s.get("/v1/alerts?limit=1"))
	s.get("/v1/alerts?limit=1&state=open&cursor="+first.Next).problem(http.StatusBadRequest, "query.cursor", "another list")
	list = decode[wire.AlertList](s.get("/v1/devices/d1/alerts?limit=1")).Alerts
	r := s.send(http.MethodPost, "/v1/alerts/"+list[0].ID+"/resolve", "")
	if got := decode[wire.AlertBody](r); got.State != "resolved" || got.ResolvedBy != "hand" || !got.ResolvedAt.Equal(noon) {
		t.Errorf("%d %+v", r.status, got)
	}
}

// listed checks the number of alerts for each query, in the list of device d1 and in the list of
// all devices.
func (s *server) listed(want map[string]int) {
	s.t.Helper()
	for query, n := range want {
		for _, path := range []string{"/v1/alerts", "/v1/devices/d1/alerts"} {
			if got := decode[wire.AlertList](s.get(path + query)).Alerts; len(got) != n {
				s.t.Errorf("%s%s: %+v, want %d", path, query, got, n)
			}
		}
	}
}

// TestAlerts_SurviveFailedReads checks that readings are rejected as unavailable if the stored
// readings around them cannot be read. When the rejected readings are resent, they must raise their alert.
func TestAlerts_SurviveFailedReads(t *testing.T) {
	s := newServer(t, nil)
	s.rule(hot)
	s.write(measured(5, 31))
	s.store.set(&s.store.read, func(grid.Table) error { return errDisk })
	r := s.send(http.MethodPost, writePath, measured(3, 31))
	if a := decode[wire.WriteAnswer](r); r.status != http.StatusServiceUnavailable || a.Rejects[0].Code != "unavailable" || !strings.Contains(r.body, "send it again") {
		t.Errorf("%d %s", r.status, r.body)
	}
	s.store.set(&s.store.read, nil)
	if a := decode[wire.WriteAnswer](s.send(http.MethodPost, writePath, measured(3, 31))); a.Duplicates != 1 {
		t.Errorf("%+v", a)
	}
	if n := len(decode[wire.AlertList](s.get("/v1/alerts")).Alerts); n != 1 {
		t.Errorf("%d alerts", n)
	}
}

func TestRules_NameInvalidParameter(t *testing.T) {
	s := newServer(t, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		param, says        string
	}{
		{"POST", "/v1/alert-rules", strings.Replace(hot, "critical", "bad", 1), 422, "body.severity", "warning"},
		{"POST", "/v1/alert-rules", strings.Replace(hot, `">"`, `"=>"`, 1), 422, "body.comparison", "!="},
		{"POST", "/v1/alert-rules", strings.Replace(hot, `"2h"`, `"soon"`, 1), 400, "body.for", "90d"},
		{"POST", "/v1/alert-rules", strings.Replace(hot, `"2h"`, `"forever"`, 1), 400, "body.for", "30d"},
		{"POST", "/v1/alert-rules", strings.Replace(hot, `30.50`, `[1]`, 1), 400, "body.threshold", "boolean"},
		{"POST", "/v1/alert-rules", strings.Replace(hot, `30.50`, `1e200`, 1), 400, "body.threshold", "1e200"},
		{"POST", "/v1/alert-rules", strings.Replace(hot, `"field"`, `"feld"`, 1), 422, "body.feld", "unexpected"},
		{"POST", "/v1/alert-rules", strings.Replace(hot, `"stream":"weather",`, ``, 1), 400, "body.stream", "both"},
		{"POST", "/v1/alert-rules", `{"kind":"deadman","severity":"info"}`, 400, "body.for", "1m"},
		{"GET", "/v1/alert-rules/none", "", 404, "", "none"},
		{"DELETE", "/v1/alert-rules/none", "", 404, "", "none"},
		{"GET", "/v1/alert-rules/" + strings.Repeat("x", 1100), "", 400, "path.rule", "the limit is 64"},
		{"DELETE", "/v1/alert-rules/a%20b", "", 400, "path.rule", "letters"},
		{"GET", "/v1/alerts?severity=bad", "", 422, "query.severity", "critical"},
		{"GET", "/v1/alerts?state=shut", "", 400, "query.state", "use open or resolved"},
		{"GET", "/v1/devices/d/alerts?state=shut", "", 400, "query.state", "use open or resolved"},
		{"GET", "/v1/alerts?cursor=x", "", 400, "query.cursor", "not a cursor"},
		{"GET", "/v1/devices/%20/alerts", "", 400, "path.device", "space"},
		{"GET", "/v1/devices/d/alerts?severity=info", "", 400, "query.severity", "unknown parameter"},
		{"POST", "/v1/alerts/nothing/resolve", "", 404, "", "nothing"},
	} {
		r := s.send(c.method, c.path, c.body, "Content-Type", "application/json")
		r.problem(c.status, c.param, c.says)
	}
	s.rule(strings.Replace(hot, `{`, `{"id":"hot",`, 1))
	r := s.send("POST", "/v1/alert-rules", `{"id":"hot","device":"d","field":"v","comparison":"==","threshold":true,"severity":"info"}`)
	r.problem(http.StatusConflict, "", "choose another id")
}

// TestAlerts_AreChangedByHand checks that an alert can be read, acknowledged, muted and resolved by
// its old id after late readings replaced the alert.
func TestAlerts_AreChangedByHand(t *testing.T) {
	s := newServer(t, nil)
	s.rule(`{"id":"hot","stream":"weather","field":"v","comparison":">","threshold":30,"severity":"critical"}`)
	s.write(measured(3, 31))
	old := decode[wire.AlertList](s.get("/v1/alerts")).Alerts[0].ID
	s.write(measured(5, 31))
	post := func(path, body string) wire.AlertBody {
		t.Helper()
		r := s.send(http.MethodPost, path, body, "Content-Type", "application/json")
		if r.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.status, r.body)
		}
		return decode[wire.AlertBody](r)
	}
	got := decode[wire.AlertBody](s.get("/v1/alerts/" + old))
	if got.ID == old || got.State != "open" || !got.Since.Equal(noon.Add(-5*time.Hour)) || got.Acknowledged != nil || got.MutedUntil != nil {
		t.Errorf("%+v", got)
	}
	if a := post("/v1/alerts/"+old+"/acknowledge", `{"by":"ann","note":"on my way"}`).Acknowledged; a == nil || a.By != "ann" || a.Note != "on my way" || !a.At.Equal(noon) {
		t.Errorf("%+v", a)
	}
	if a := post("/v1/alerts/"+old+"/mute", `{"for":"2h"}`); a.MutedUntil == nil || !a.MutedUntil.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("%+v", a)
	}
	if a := decode[wire.AlertBody](s.send(http.MethodDelete, "/v1/alerts/"+old+"/mute", "")); a.ID != got.ID || a.MutedUntil != nil {
		t.Errorf("%+v", a)
	}
	for _, c := range []struct{ path, body, param, says string }{
		{"/v1/alerts/" + old + "/mute", `{}`, "body.for", "use for or until"},
		{"/v1/alerts/" + old + "/mute", `{"for":"soon"}`, "body.for", "2h"},
		{"/v1/alerts/" + old + "/mute", `{"until":"2020-01-01T00:00:00Z"}`, "body.until", "has passed"},
		{"/v1/alerts/" + old + "/mute", `{"until":"9999-12-31T23:59:59-01:00"}`, "body.until", "year 9999"},
		{"/v1/alert-rules/hot/mute", `{"until":"9999-12-31T23:59:59-01:00"}`, "body.until", "year 9999"},
		{"/v1/alerts/" + old + "/acknowledge", `{"note":"` + strings.Repeat("x", 1025) + `"}`, "body.note", "the limit is 1024"},
		{"/v1/alerts/resolve", `{}`, "body.ids", "no alerts are chosen"},
		{"/v1/alert-rules/hot/mute", `{"until":"2020-01-01T00:00:00Z"}`, "body.until", "has passed"},
	} {
		s.send(http.MethodPost, c.path, c.body, "Content-Type", "application/json").problem(http.StatusBadRequest, c.param, c.says)
	}
	r := s.send(http.MethodPost, "/v1/alerts/resolve", `{"ids":["`+old+`","nothing"]}`, "Content-Type", "application/json")
	if a := decode[wire.ResolvedAlerts](r); len(a.Resolved) != 1 || a.Resolved[0].ID != got.ID || len(a.Missing) != 1 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestAlerts_UntilDistantFuture checks windows that begin or end, relative to now, outside the valid
// event times. The nanoseconds of such a time since 1970 may not fit an int64.
func TestAlerts_UntilDistantFuture(t *testing.T) {
	s := newServer(t, nil)
	s.rule(hot)
	s.write(measured(4, 31), measured(1, 32))
	for _, query := range []string{"", "?to=%2B1y", "?to=%2B250y", "?to=%2B292y", "?from=-292y", "?from=-292y&to=%2B3500mo"} {
		if list := decode[wire.AlertList](s.get("/v1/alerts" + query)); len(list.Alerts) != 1 {
			t.Errorf("%q: %d alerts, want 1", query, len(list.Alerts))
		}
	}
}
