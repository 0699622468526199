package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
)

// policyBody is a policy for a simulation: the defaults, with drops and two classes.
const policyBody = `{"future":"1d","recent_weeks":6,"doubling":"5y","months_ahead":1,"drop":true,"grace":"1w","seal":"1h","max_drops":100,` +
	`"rollups":true,"classes":{"default":"7d","audit":"1y"}}`

// TestCalendar_ForecastsPresentPolicy reads the forecast of a server that never drops tables. Each
// month after the first must create the tables of the next one.
func TestCalendar_ForecastsPresentPolicy(t *testing.T) {
	s := newServer(t, nil)
	s.write(valued(0, 7))
	got := decode[wire.CalendarBody](s.get("/v1/tables/calendar?years=2"))
	if len(got.Months) != 25 || got.Months[0].Month != "2026-11" || got.Months[24].Month != "2028-11" {
		t.Fatalf("%d months, %+v; want 2026-11 to 2028-11", len(got.Months), got.Months)
	}
	tables := got.Months[0].Tables
	for _, m := range got.Months[1:] {
		tables += m.Created
		if m.Created < 15 || m.Dropped != 0 || m.Tables != tables || m.Requests != nil || m.Dollars != nil {
			t.Errorf("month %+v, want %d tables, none dropped and no cost", m, tables)
		}
	}
	if got.Quota != nil || len(got.Warnings) != 0 || len(got.Load) != 1 || got.Load[0].Readings <= 0 {
		t.Errorf("quota %v, warnings %v, load %+v; want the load only", got.Quota, got.Warnings, got.Load)
	}
	if last := got.Months[24]; last.Readings < int64(got.Load[0].Readings*700) {
		t.Errorf("%d readings after two years of %v a day", last.Readings, got.Load[0].Readings)
	}
	if again := decode[wire.CalendarBody](s.get("/v1/tables/calendar")); len(again.Months) != 61 {
		t.Errorf("%d months without years, want five years", len(again.Months))
	}
}

// TestCalendar_SimulatesOtherPolicy sends another policy. The simulation must use the classes and the
// drops of that policy, and must not change the server.
func TestCalendar_SimulatesOtherPolicy(t *testing.T) {
	s := newServer(t, nil)
	s.write(valued(0, 7))
	before := decode[wire.TableList](s.get("/v1/tables"))
	got := decode[wire.CalendarBody](s.send("POST", "/v1/tables/calendar?years=3", policyBody, "Content-Type", "application/json"))
	first, last := got.Months[0], got.Months[len(got.Months)-1]
	if first.Created < 30 || last.Dropped == 0 || last.Created == 0 || got.Most == 0 {
		t.Errorf("first month %+v, last month %+v; want the tables of class audit, and drops", first, last)
	}
	if after := decode[wire.TableList](s.get("/v1/tables")); len(after.Tables) != len(before.Tables) {
		t.Errorf("%d tables after the simulation, want %d", len(after.Tables), len(before.Tables))
	}
	for body, param := range map[string]string{
		`{"future":"soon","recent_weeks":6,"doubling":"5y","months_ahead":1,"drop":true,"grace":"1w","seal":"1h","max_drops":100,"rollups":true,"classes":{"default":"7d"}}`: "body.future",
		`{"future":"1d","recent_weeks":60,"doubling":"5y","months_ahead":1,"drop":true,"grace":"1w","seal":"1h","max_drops":100,"rollups":true,"classes":{"default":"7d"}}`:  "body.recent",
		`{"future":"1d","recent_weeks":6,"doubling":"5y","months_ahead":1,"drop":true,"grace":"1w","seal":"1h","max_drops":100,"rollups":true,"classes":{"x":"7d"}}`:         "body.classes.default",
	} {
		s.send("POST", "/v1/tables/calendar", body, "Content-Type", "application/json").problem(http.StatusBadRequest, param, "")
	}
	if r := s.get("/v1/tables/calendar?years=31"); r.status != http.StatusUnprocessableEntity {
		t.Errorf("31 years: %d %s, want 422", r.status, r.body)
	}
}

// TestCalendar_BillsAccount serves an account with a quota of 100 tables. The forecast must name
// the month in which the quota is reached, with the same warning as the plan. It must also have the
// cost of the present load.
func TestCalendar_BillsAccount(t *testing.T) {
	s := newBilledServer(t, api.Account{TableQuota: 100, Billed: true})
	for i := range 20 {
		s.write(valued(0, i))
		s.advance(time.Hour)
	}
	got := decode[wire.CalendarBody](s.get("/v1/tables/calendar?years=1"))
	if got.QuotaMet == nil || *got.QuotaMet != "2027-02" || got.Quota == nil || *got.Quota != 100 || len(got.Warnings) != 1 {
		t.Fatalf("quota met in %v, warnings %v; want 2027-02: 42 tables, and 21 a month", got.QuotaMet, got.Warnings)
	}
	m := got.Months[1]
	perMonth := got.Load[0].Readings * 31
	if m.Requests == nil || float64(*m.Requests) < perMonth || float64(*m.Requests) > perMonth+200 || m.Dollars == nil {
		t.Errorf("month %+v; want about %v requests", m, perMonth)
	}
	if plan := decode[wire.PlanBody](s.get("/v1/tables/plan")); fmt.Sprint(plan.Warnings) != fmt.Sprint(got.Warnings) {
		t.Errorf("the plan warns of %v, the calendar of %v", plan.Warnings, got.Warnings)
	}
}
