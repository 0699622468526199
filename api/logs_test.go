package api_test

import (
	"github.com/varvedb/varve/api/wire"
	"net/http"
	"strings"
	"testing"
	"time"
)

func (s *server) log(device, body string) wire.LogAnswer {
	s.t.Helper()
	r := s.send(http.MethodPost, "/v1/devices/"+device+"/logs", body, "Content-Type", "application/json")
	if r.status != http.StatusOK {
		s.t.Fatalf("%d %s", r.status, r.body)
	}
	return decode[wire.LogAnswer](r)
}

func (s *server) messages(path string) string {
	s.t.Helper()
	var all []string
	for _, l := range decode[wire.LogList](s.get(path)).Logs {
		all = append(all, l.Message)
	}
	return strings.Join(all, " ")
}

// TestLogs_AreListedByFilter checks that log entries are listed by device, state, operator and
// supervisor, and that a resent entry is a duplicate.
func TestLogs_AreListedByFilter(t *testing.T) {
	s := newServer(t, nil)
	const warning = `{"time":"2020-04-24T14:50:00Z","state":"WARNING4","message":"hot","operator":"Liz","escalated_to":"Sara","attributes":{"t":90.50}}`
	if a := s.log("d1", warning); a.Verdict != "stored" || a.Log.ID == "" || string(a.Log.Attributes) != `{"t":90.5}` || !a.Log.Arrived.Equal(noon) {
		t.Errorf("%+v", a)
	}
	s.advance(time.Minute)
	if a := s.log("d1", warning); a.Verdict != "duplicate" || !a.Log.Arrived.Equal(noon) {
		t.Errorf("%+v", a)
	}
	s.log("d1", `{"time":1587735000000,"id":"x","state":"NORMAL","message":"fine","operator":"Liz"}`)
	for path, want := range map[string]string{
		"/v1/devices/d1/logs":              "hot fine",
		"/v1/devices/d1/logs?order=asc":    "fine hot",
		"/v1/devices/d1/logs?state=NORMAL": "fine",
		"/v1/devices/d1/logs?limit=1":      "hot",
		"/v1/operators/Liz/logs?from=2020-04-11T05:58:00Z&to=2020-04-24T14:50:00Z": "fine",
		"/v1/operators/Tom/logs":                                               "",
		"/v1/supervisors/Sara/escalations":                                     "hot",
		"/v1/supervisors/Sara/escalations?state=NORMAL":                        "",
		"/v1/supervisors/Sara/escalations?state=WARNING4&during=2020-04-24":    "hot",
		"/v1/supervisors/Sara/escalations?state=WARNING4&during=2020-04-24T13": "",
	} {
		if got := s.messages(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	next := decode[wire.LogList](s.get("/v1/devices/d1/logs?limit=1&from=-100000h")).Next
	s.advance(24 * time.Hour) // the relative window of the first page applies to the next page
	if got := s.messages("/v1/devices/d1/logs?limit=1&from=-100000h&cursor=" + next); got != "fine" {
		t.Errorf("second page: %q", got)
	}
	s.get("/v1/devices/d1/logs?limit=1&cursor="+next).problem(http.StatusBadRequest, "query.cursor", "another list")
}

// TestLogs_AnswerConflicts checks that an entry whose id is stored with other content is a conflict. The
// answer has both contents, and the stored entry stays.
func TestLogs_AnswerConflicts(t *testing.T) {
	s := newServer(t, nil)
	entry := func(message, attributes string) string {
		return `{"time":"2026-11-18T11:00:00Z","id":"m1","state":"NORMAL","message":"` + message + `","attributes":` + attributes + `}`
	}
	s.log("d1", entry("hot", `{"t":90.50}`))
	if a := s.log("d1", entry("hot", `{"t":90.5}`)); a.Verdict != "duplicate" || a.Sent != nil || a.Message != "" {
		t.Errorf("with other decimals: %+v", a)
	}
	r := s.send(http.MethodPost, "/v1/devices/d1/logs", entry("fine", `{"t":20}`), "Content-Type", "application/json")
	a := decode[wire.LogAnswer](r)
	if r.status != http.StatusUnprocessableEntity || a.Verdict != "conflict" || a.Log.Message != "hot" || a.Sent == nil || a.Sent.Message != "fine" || a.Sent.ID != "m1" {
		t.Errorf("%d %s", r.status, r.body)
	}
	const want = `id "m1" is stored with {"attributes":{"t":90.5},"message":"hot","state":"NORMAL"}` +
		` and was sent with {"attributes":{"t":20},"message":"fine","state":"NORMAL"}: send another id`
	if a.Message != want {
		t.Errorf("got %s, want %s", a.Message, want)
	}
	if got := s.messages("/v1/devices/d1/logs"); got != "hot" {
		t.Errorf("the list has %q", got)
	}
}

// TestLogTime_ErrorOmitsPrecision checks that the error for a time in seconds does not suggest the
// parameter "precision", which entries lack.
func TestLogTime_ErrorOmitsPrecision(t *testing.T) {
	s := newServer(t, nil)
	p := s.send(http.MethodPost, "/v1/devices/d/logs", `{"time":1587735000,"state":"S"}`, "Content-Type", "application/json").
		problem(http.StatusBadRequest, "body.time", "send milliseconds")
	if strings.Contains(p.Detail, "precision") {
		t.Error(p.Detail)
	}
}

func TestLogs_NameInvalidParameter(t *testing.T) {
	s := newServer(t, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		param, says        string
	}{
		{"POST", "/v1/devices/d/logs", `{"time":"yesterday","state":"S"}`, 400, "body.time", "RFC 3339"},
		{"POST", "/v1/devices/d/logs", `{"time":1587735000,"state":"S"}`, 400, "body.time", "looks like seconds"},
		{"POST", "/v1/devices/d/logs", `{"time":{},"state":"S"}`, 400, "body.time", "RFC 3339"},
		{"POST", "/v1/devices/d/logs", `{"state":"S"}`, 422, "body", "time"},
		{"POST", "/v1/devices/d/logs", `{"time":"2020-04-24T14:50:00Z","state":"A B"}`, 400, "body.state", "letters"},
		{"POST", "/v1/devices/d/logs", `{"time":"2020-04-24T14:50:00Z","state":"S","level":1}`, 422, "body.level", "unexpected"},
		{"GET", "/v1/devices/d/logs?from=2020-02-01&to=2020-01-01", "", 400, "query.to", "before it begins"},
		{"GET", "/v1/devices/d/logs?during=2020-13", "", 400, "query.during", "2024-12"},
		{"GET", "/v1/devices/d/logs?during=2020&from=2019", "", 400, "query.during", "leave"},
		{"GET", "/v1/devices/d/logs?order=up", "", 422, "query.order", "desc"},
		{"GET", "/v1/devices/d/logs?from=soon", "", 400, "query.from", "RFC 3339"},
		{"GET", "/v1/operators/Liz/logs?state=S", "", 400, "query.state", "unknown parameter"},
		{"GET", "/v1/supervisors/%20/escalations", "", 400, "path.supervisor", "space"},
	} {
		r := s.send(c.method, c.path, c.body, "Content-Type", "application/json")
		r.problem(c.status, c.param, c.says)
	}
}
