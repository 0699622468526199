package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/rejects"
)

// withRejects sets the options of a server that stores rejects. The stream "clocks" has a quarantine.
func withRejects(o *engine.Options, _ *api.Limits) {
	o.Rejects = rejects.Options{Limit: 50_000, Retention: 30 * 24 * time.Hour, Quarantine: map[string]bool{"clocks": true}}
}

func (s *server) rejects(query string) []wire.RejectBody {
	s.t.Helper()
	return decode[wire.RejectList](s.get("/v1/rejects" + query)).Rejects
}

// replay replays one reject or, with an empty id, all of them.
func (s *server) replay(id, body string) wire.ReplayAnswer {
	s.t.Helper()
	path := "/v1/rejects/replay"
	if id != "" {
		path = "/v1/rejects/" + id + "/replay"
	}
	r := s.send(http.MethodPost, path, body, "Content-Type", "application/json")
	if r.status != http.StatusOK {
		s.t.Fatalf("%d %s", r.status, r.body)
	}
	return decode[wire.ReplayAnswer](r)
}

// TestRejects_ReplayEachFormat sends a reading that is rejected, in each format. It replays the
// reject with an option, first as a dry run. The stored reading must have the time and the number.
func TestRejects_ReplayEachFormat(t *testing.T) {
	const at = "2026-11-18T11:00:00Z"
	sec := fmt.Sprint(noon.Add(-time.Hour).Unix())
	for _, c := range []struct {
		name, path, media, body string
		options                 string
		device, time            string
	}{
		{"NDJSON in seconds", writePath, "application/x-ndjson", `{"device":"d1","time":` + sec + `,"fields":{"a":1.10}}`, `{"precision":"s"}`, "d1", at},
		{"JSON in a wrong zone", writePath, "application/json", `[{"device":"d1","time":"2026-11-20T11:00:00Z","fields":{"a":1.10}}]`, `{"shift":"-2d"}`, "d1", at},
		{"JSON without a device", writePath, "application/json", `{"device":"","time":"` + at + `","fields":{"a":1.10}}`, `{"device":"d7"}`, "d7", at},
		{"flat JSON with a wrong type of device", writePath + "?fields=flat", "application/json", `{"device":5,"time":"` + at + `","a":1.10}`, `{"device":"d7"}`, "d7", at},
		{"JSON without a time", writePath, "application/json", `{"device":"d1","fields":{"a":1.10}}`, `{"time":"arrival"}`, "d1", "2026-11-18T12:00:00Z"},
		{"JSON with a bad clock", writePath, "application/json", `{"device":"d1","time":"2099-01-01T00:00:00Z","fields":{"a":1.10}}`, `{"time":"arrival"}`, "d1", "2026-11-18T12:00:00Z"},
		{"line protocol", "/v1/readings", wire.Line.MediaType(), "weather,device=d1 a=1.10 " + sec, `{"precision":"s"}`, "d1", at},
		{"line protocol without a device", "/write?db=x&precision=s", "", "weather,x=y a=1.10 " + sec, `{"device":"d7"}`, "d7", at},
		{"line protocol with a bad clock", "/write?db=x&precision=h", "", "weather,device=d1 a=1.10 900000", `{"time":"arrival"}`, "d1", "2026-11-18T12:00:00Z"},
		{"CSV", writePath, "text/csv", "Device,a,\"ti,me\"\nd1,1.10," + sec + "\n", `{"precision":"s"}`, "d1", at},
		{"CSV without a header", writePath + "?columns=time,unit,a&device=d1&delimiter=%3B&decimal=,", "text/csv", sec + ";C;1,10\n", `{"precision":"s"}`, "d1", at},
		{"CSV without a device", writePath, "text/csv", "device,time,a\n," + at + ",1.10\n", `{"device":"d7"}`, "d7", at},
		{"CSV in the long form", writePath + "?name_column=m&value_column=v", "text/csv", "device,time,m,v\nd1," + sec + ",a,1.10\nd1," + sec + ",b,2\n", `{"precision":"s"}`, "d1", at},
		{"CSV with a column per device", writePath + "?device_columns=a", "text/csv", "time,d1,d2\n" + sec + ",1.10,2\n", `{"precision":"s"}`, "d1", at},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, withRejects)
			if strings.Contains(c.body, "ti,me") {
				c.path += "?time_column=ti%2Cme"
			}
			s.send(http.MethodPost, c.path, c.body, "Content-Type", c.media)
			list := s.rejects("")
			if len(list) != 1 || !list[0].Replayable || list[0].Stream != "weather" {
				t.Fatalf("%+v, want one reject", list)
			}
			s.advance(time.Hour)
			if a := s.replay(list[0].ID, strings.TrimSuffix(c.options, "}")+`,"dry_run":true}`); a.Valid == 0 || a.Rejected != 0 || a.Stored != 0 || a.Deleted != 0 {
				t.Fatalf("dry run: %+v", a)
			}
			if a := s.replay(list[0].ID, c.options); a.Stored == 0 || a.Rejected != 0 || a.Deleted != 1 {
				t.Fatalf("%+v", a)
			}
			q := url.Values{"from": {"2000-01-01"}, "to": {"2026-11-19"}}
			body := s.get("/v1/streams/weather/devices/" + c.device + "/readings?" + q.Encode()).body
			if !strings.Contains(body, `"time":"`+c.time+`"`) || !strings.Contains(body, `"a":1.1`) {
				t.Errorf("%s", body)
			}
			if rest := s.rejects(""); len(rest) != 0 {
				t.Errorf("%d rejects remain", len(rest))
			}
		})
	}
}

// TestRejects_InterruptedReplay stores the readings of a replay and then fails to delete their
// rejects, as if the process was killed. The repeated replay must store nothing twice.
func TestRejects_InterruptedReplay(t *testing.T) {
	s := newServer(t, withRejects)
	var body strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&body, `{"device":"d%d","time":"2026-11-20T12:00:00Z","fields":{"a":%d}}`+"\n", i%7, i)
	}
	if a := decode[wire.WriteAnswer](s.send(http.MethodPost, writePath, body.String(), "Content-Type", "application/x-ndjson")); a.Rejected != 1200 {
		t.Fatalf("%+v", a)
	}
	if n := len(s.rejects("?limit=1000")); n != 1000 {
		t.Fatalf("%d rejects on a page", n)
	}
	s.store.failDeletes(registrytest.ErrDisk)
	const options = `{"select":{"stream":"weather","code":"time_in_future"},"shift":"-3d","limit":1000}`
	s.send(http.MethodPost, "/v1/rejects/replay", options, "Content-Type", "application/json").problem(http.StatusInternalServerError, "", "500 readings are stored, and some of their rejects remain: repeat the replay: delete rejects")
	s.store.failDeletes(nil)
	var sum wire.ReplayAnswer
	for cursor := ""; ; {
		a := s.replay("", strings.TrimSuffix(options, "}")+`,"cursor":"`+cursor+`"}`)
		sum.Stored, sum.Duplicates, sum.Deleted = sum.Stored+a.Stored, sum.Duplicates+a.Duplicates, sum.Deleted+a.Deleted
		if cursor = a.Next; cursor == "" {
			break
		}
	}
	if sum.Stored != 700 || sum.Duplicates != 500 || sum.Deleted != 1200 || len(s.rejects("")) != 0 {
		t.Errorf("%+v, %d rejects remain", sum, len(s.rejects("")))
	}
}

// TestRejects_StayIfReplayFails replays rejects whose readings are conflicts, are rejected again, or
// cannot be stored for now. The rejects must stay.
func TestRejects_StayIfReplayFails(t *testing.T) {
	s := newServer(t, withRejects)
	s.write(`{"device":"d1","time":"2026-11-18T11:00:00Z","id":"x","fields":{"a":1}}`)
	s.send(http.MethodPost, writePath, `[{"device":"d1","time":"2026-11-18T11:00:00Z","id":"x","fields":{"a":2}},{"device":"d1","time":"2026-11-20T11:00:00Z","fields":{"a":3}}]`)
	if a := s.replay("", `{"select":{}}`); a.Rejects != 2 || a.Rejected != 2 || a.Deleted != 0 || len(a.Problems) != 2 {
		t.Errorf("%+v", a)
	}
	s.store.set(&s.store.write, func(grid.Table) error { return errDisk })
	if a := s.replay("", `{"select":{"code":"time_in_future"},"shift":"-2d"}`); a.Rejected != 1 || a.Deleted != 0 || a.Problems[0].Code != string(varve.CodeUnavailable) {
		t.Errorf("%+v", a)
	}
	s.store.set(&s.store.write, nil)
	if list := s.rejects(""); len(list) != 2 || list[0].Times != 1 {
		t.Errorf("%+v, want both rejects as they came", list)
	}
	for _, bad := range []struct{ options, param string }{
		{`{"shift":"soon"}`, "body.shift"}, {`{"shift":"1h","time":"arrival"}`, "body.shift"}, {`{"device":"a\nb"}`, "body.device"},
	} {
		s.send(http.MethodPost, "/v1/rejects/"+s.rejects("")[0].ID+"/replay", bad.options, "Content-Type", "application/json").problem(http.StatusBadRequest, bad.param, "")
	}
	if a := decode[wire.DeletedRejects](s.send(http.MethodDelete, "/v1/rejects?code=conflict", "")); a.Deleted != 1 || len(s.rejects("")) != 1 {
		t.Errorf("%+v", a)
	}
	s.get("/v1/rejects?since=soon").problem(http.StatusBadRequest, "query.since", "soon")
	s.get("/v1/rejects/none").problem(http.StatusNotFound, "", "not found")
}

// TestRejects_BelongToTheirTenant checks that a tenant neither sees nor deletes the rejects of another
// tenant.
func TestRejects_BelongToTheirTenant(t *testing.T) {
	l := newLocked(t)
	const late = `{"device":"d1","time":"2026-11-20T11:00:00Z","fields":{"a":1}}`
	l.as(l.operator, "POST", writePath, late)
	list := decode[wire.RejectList](l.as(l.operator, "GET", "/v1/rejects", "")).Rejects
	if len(list) != 1 || list[0].From == "" {
		t.Fatalf("%+v, want one reject with its key", list)
	}
	theirs, one := l.keys["other admin"], "/v1/rejects/"+list[0].ID
	if r := l.as(theirs, "GET", "/v1/rejects", ""); len(decode[wire.RejectList](r).Rejects) != 0 {
		t.Error("another tenant lists the reject")
	}
	l.as(theirs, "GET", one, "").problem(http.StatusNotFound, "", "not found")
	if a := decode[wire.DeletedRejects](l.as(theirs, "DELETE", one, "")); a.Deleted != 0 {
		t.Error("another tenant deletes the reject")
	}
	if a := decode[wire.DeletedRejects](l.as(theirs, "DELETE", "/v1/rejects", "")); a.Deleted != 0 {
		t.Error("another tenant deletes all rejects")
	}
	if n := len(decode[wire.RejectList](l.as(l.operator, "GET", "/v1/rejects", "")).Rejects); n != 1 {
		t.Errorf("%d rejects remain, want 1", n)
	}
}

func TestQuarantine_AnswersWithReject(t *testing.T) {
	s := newServer(t, withRejects)
	r := s.send(http.MethodPost, "/v1/streams/clocks/readings", `{"device":"d1","time":"2026-11-20T11:00:00Z","fields":{"a":1}}`)
	a, list := decode[wire.WriteAnswer](r), s.rejects("?code=quarantined")
	if r.status != http.StatusUnprocessableEntity || len(list) != 1 || a.Rejects[0].Code != "quarantined" || !strings.Contains(a.Rejects[0].Message, list[0].ID) {
		t.Errorf("%d %s, rejects %+v", r.status, r.body, list)
	}
}
