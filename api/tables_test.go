package api_test

import (
	"context"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/lease"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// table finds a table in the list. The test fails if the table is missing.
func (s *server) table(name string) wire.TableInfo {
	s.t.Helper()
	for _, in := range decode[wire.TableList](s.get("/v1/tables")).Tables {
		if in.Name == name {
			return in
		}
	}
	s.t.Fatalf("no table %s", name)
	return wire.TableInfo{}
}

// TestTables_ListStateAndSchedule checks that each table is listed with its state and schedule, and
// that all streams are listed.
func TestTables_ListStateAndSchedule(t *testing.T) {
	s := hours(t, 3)
	in := s.table(thisTable(s).Name())
	if in.Class != "default" || in.State != "open" || in.Tier != "hot" || in.Readings != 3 || in.WriteMonth != "2026-11" || in.Why == "" || in.Retires == nil || in.Drops != nil {
		t.Errorf("%+v", in)
	}
	if !in.From.Before(noon) || !in.To.After(noon) || !in.Seals.After(noon) {
		t.Errorf("%+v", in)
	}
	streams := decode[wire.StreamList](s.get("/v1/streams")).Streams
	if len(streams) != 1 || streams[0].Name != "weather" || streams[0].Class != "default" || len(streams[0].Classes) != 1 {
		t.Errorf("%+v", streams)
	}
	fresh := newServer(t, nil)
	if r := fresh.get("/v1/streams"); !strings.Contains(r.body, `"streams":[]`) {
		t.Error(r.body)
	}
}

// TestPlan_IsAppliedAsPlanned checks that a plan changes nothing, can be made for another time, and
// is applied as planned.
func TestPlan_IsAppliedAsPlanned(t *testing.T) {
	s := hours(t, 1)
	if p := decode[wire.PlanBody](s.get("/v1/tables/plan")); len(p.Actions) != 0 || !p.At.Equal(noon) || p.Ready != p.Needed || p.Ready == 0 || p.Skipped == nil {
		t.Errorf("%+v", p)
	}
	later := decode[wire.PlanBody](s.get("/v1/tables/plan?at=%2B30d"))
	if len(later.Actions) == 0 || !later.At.Equal(noon.AddDate(0, 0, 30)) || later.Ready == later.Needed {
		t.Errorf("%+v", later)
	}
	s.advance(30 * 24 * time.Hour)
	s.send("POST", "/v1/tables/apply", `{"plan":"x"}`).problem(http.StatusUnprocessableEntity, "body", "?plan=")
	done := decode[wire.PlanBody](s.send("POST", "/v1/tables/apply", ""))
	if len(done.Actions) != len(later.Actions) {
		t.Errorf("%d planned, %d done", len(later.Actions), len(done.Actions))
	}
	if p := decode[wire.PlanBody](s.get("/v1/tables/plan")); len(p.Actions) != 0 || p.Ready != p.Needed {
		t.Errorf("afterwards %+v", p)
	}
	s.get("/v1/tables/plan?at=1970-01-01").problem(http.StatusBadRequest, "query.at", "1970-01-01T00:00:00Z has passed")
	s.get("/v1/tables/plan?at=soon").problem(http.StatusBadRequest, "query.at", "RFC 3339")
}

// TestPlan_OmitsDropsOfTablesInUse retires a table whose readings cannot be counted for roll-ups. The present plan
// must not drop the table, as a run would not, and its digest must be accepted.
func TestPlan_OmitsDropsOfTablesInUse(t *testing.T) {
	s := newServer(t, func(o *engine.Options, _ *api.Limits) {
		o.Rotation = engine.DefaultRotation()
		o.Rotation.Drop = true
	})
	s.write(good(noon))
	name := thisTable(s).Name()
	s.store.set(&s.store.read, func(grid.Table) error { return errDisk })
	for range 2 {
		s.advance(450 * 24 * time.Hour)
		decode[wire.PlanBody](s.send("POST", "/v1/tables/apply", ""))
	}
	s.advance(time.Hour)
	p := decode[wire.PlanBody](s.get("/v1/tables/plan"))
	for _, a := range p.Actions {
		t.Errorf("%s of %s is planned, want nothing", a.Action, a.Table)
	}
	skipped := slices.ContainsFunc(p.Skipped, func(k wire.PlanSkipped) bool {
		return k.Table == name && strings.Contains(k.Reason, "roll-ups have yet to be counted")
	})
	if !skipped || !p.At.Equal(s.clock()) {
		t.Errorf("skipped at %s: %+v, want %s, which is in use", p.At, p.Skipped, name)
	}
	decode[wire.PlanBody](s.send("POST", "/v1/tables/apply?plan="+p.Digest, ""))
}

// TestApply_RequiresLease checks that the answer is 409 while another process has the lease.
func TestApply_RequiresLease(t *testing.T) {
	s := newServer(t, nil)
	k := lease.Manager{Items: s.store, Now: s.clock, Holder: "another", TTL: time.Hour}
	l, err := k.Acquire(context.Background(), "rotator")
	if err != nil {
		t.Fatal(err)
	}
	s.send("POST", "/v1/tables/apply", "").problem(http.StatusConflict, "", "another")
	if err := l.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r := s.send("POST", "/v1/tables/apply", ""); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestHold_ProtectsTable checks that a hold with a reason protects the named table from retirement
// until the hold is released. A restored table must be on hold.
func TestHold_ProtectsTable(t *testing.T) {
	s := hours(t, 1)
	name := thisTable(s).Name()
	path := "/v1/tables/" + name
	in := decode[wire.TableInfo](s.send("PUT", path+"/hold", `{"reason":"case 17"}`))
	if in.Name != name || in.Hold != "case 17" || in.Drops != nil || in.Retires != nil || s.table(name).Hold != "case 17" {
		t.Errorf("%+v", in)
	}
	s.advance(500 * 24 * time.Hour)
	decode[wire.PlanBody](s.send("POST", "/v1/tables/apply", ""))
	if in := s.table(name); in.State == "retired" {
		t.Errorf("retired although on hold: %+v", in)
	}
	if in := decode[wire.TableInfo](s.send("DELETE", path+"/hold", "")); in.Hold != "" {
		t.Errorf("%+v", in)
	}
	decode[wire.PlanBody](s.send("POST", "/v1/tables/apply", ""))
	if in := s.table(name); in.State != "retired" {
		t.Errorf("not retired: %+v", in)
	}
	if in := decode[wire.TableInfo](s.send("POST", path+"/restore", "")); in.State == "retired" || in.Hold != api.RestoredByHand {
		t.Errorf("not restored: %+v", in)
	}
}

// TestRestore_RefusesOpenTable checks that a restore of a table that is not retired fails, and does
// not put the table on hold.
func TestRestore_RefusesOpenTable(t *testing.T) {
	s := hours(t, 1)
	name := thisTable(s).Name()
	s.send("POST", "/v1/tables/"+name+"/restore", "").problem(http.StatusConflict, "", "is not retired")
	if in := s.table(name); in.Hold != "" || in.State != "open" {
		t.Errorf("%+v", in)
	}
}

// TestTables_RefuseInvalidRequests checks the statuses of requests with unknown tables and with
// invalid bodies.
func TestTables_RefuseInvalidRequests(t *testing.T) {
	s := newServer(t, nil)
	absent := strings.Replace(thisTable(s).Name(), "_2026", "_2019", 1)
	for _, name := range []string{"x", "other_1794787200_1795392000_11_2026", "varve_1_2_11_2026", absent} {
		for method, what := range map[string]string{"PUT": "hold", "DELETE": "hold", "POST": "restore"} {
			body := ""
			if method == "PUT" {
				body = `{"reason":"x"}`
			}
			s.send(method, "/v1/tables/"+name+"/"+what, body).problem(http.StatusNotFound, "", name)
		}
	}
	s.send("PUT", "/v1/tables/"+absent+"/hold", `{"reason":"x"}`).problem(http.StatusNotFound, "", "varve archive hold")
	path := "/v1/tables/" + thisTable(s).Name() + "/hold"
	for body, says := range map[string]string{`{}`: "reason", `{"reason":""}`: "reason is empty: state why", `{"reason":" "}`: "reason is empty", `{"reason":7}`: "reason", `{"reason":"` + strings.Repeat("x", 201) + `"}`: "reason"} {
		r := s.send("PUT", path, body)
		p := decode[wire.Problem](r)
		if r.status != http.StatusUnprocessableEntity || r.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(p.Detail, says) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	if r := s.send("PUT", path, `{`); r.status != http.StatusBadRequest {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestTableArrivals_CountByDay counts the readings of a table by the day of their arrival. The sum must be
// the count of the table.
func TestTableArrivals_CountByDay(t *testing.T) {
	s := hours(t, 3)
	name := thisTable(s).Name()
	path := "/v1/tables/" + name + "/arrivals"
	s.advance(24 * time.Hour)
	s.write(valued(7, 7), valued(8, 8))
	got := decode[wire.TableArrivals](s.get(path))
	want := []wire.ArrivalDay{{Day: noon.Format(time.DateOnly), Readings: 3}, {Day: noon.Add(24 * time.Hour).Format(time.DateOnly), Readings: 2}}
	if got.Table != name || !slices.Equal(got.Days, want) || got.Readings != 5 || got.Readings != s.table(name).Readings {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.get(path+"?x=1").problem(http.StatusBadRequest, "query.x", "")
	s.get(strings.Replace(path, "_2026", "_2019", 1)).problem(http.StatusNotFound, "", "_2019")
	s.get("/v1/tables/x/arrivals").problem(http.StatusNotFound, "", "GET /v1/tables lists")
}
