package api_test

import (
	"github.com/varvedb/varve/api/wire"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestLatest_ByEventAndArrival checks the latest reading by event time and by arrival. The
// answer is 404 for an unknown device, and if all readings have expired.
func TestLatest_ByEventAndArrival(t *testing.T) {
	s := hours(t, 3)
	s.advance(time.Minute)
	s.write(valued(2000, 99)) // has the oldest event time, and arrives last
	latest := func(path string) any {
		t.Helper()
		r := s.get(path)
		if r.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.status, r.body)
		}
		a := decode[wire.LatestBody](r)
		if len(a.Coverage.Read) == 0 || a.Coverage.Failed == nil {
			t.Errorf("%s: coverage %+v", path, a.Coverage)
		}
		return a.Reading.Fields["v"]
	}
	if got := latest(latestPath); got != 0.0 {
		t.Errorf("by event: %v", got)
	}
	if got := latest(with(latestPath, "by", "arrival", "consistent", "1")); got != 99.0 {
		t.Errorf("by arrival: %v", got)
	}
	if r := s.get(with(latestPath, "fields", "note")); !strings.Contains(r.body, `"fields":{"note":"n0"}`) {
		t.Error(r.body)
	}
	s.get("/v1/streams/weather/devices/d9/latest").problem(http.StatusNotFound, "", "d9")
	s.advance(400 * 24 * time.Hour)
	s.get(latestPath).problem(http.StatusNotFound, "", "expired")
}

// TestLatest_OfManyDevices checks one answer per requested device, in the order of the request. A
// device without readings gets null, and a device that is named twice gets two answers.
func TestLatest_OfManyDevices(t *testing.T) {
	s := hours(t, 2)
	s.write(strings.Replace(valued(5, 5), "d1", `d/\"2`, 1))
	r := s.get(with("/v1/streams/weather/latest", "device", `d/"2`, "device", "none", "device", "d1", "device", "d1"))
	a := decode[wire.LatestOfManyBody](r)
	var got []string
	for _, one := range a.Latest {
		v := "null"
		if one.Reading != nil {
			v = one.Reading.Time
		}
		got = append(got, one.Device+" "+v)
	}
	want := `d/"2 2026-11-18T07:00:00Z|none null|d1 2026-11-18T12:00:00Z|d1 2026-11-18T12:00:00Z`
	if strings.Join(got, "|") != want || !strings.Contains(r.body, `"reading":null`) {
		t.Errorf("%s, want %s", strings.Join(got, "|"), want)
	}
}

// TestExplain_ListsTablesAndCost checks that an explanation has the tables that a query would read,
// and the cost. It also has the tables that are skipped because all their readings have expired.
func TestExplain_ListsTablesAndCost(t *testing.T) {
	s := hours(t, 2)
	s.write(valued(24*100, 7))
	x := decode[wire.Explained](s.get(with(readPath, "explain", "true", "from", "-5h")))
	if len(x.Tables) != 1 || x.Tables[0].Action != "read" || x.Tables[0].Name != thisTable(s).Name() || x.Tables[0].WriteMonth != "2026-11" || x.Requests < 1 || x.Units <= 0 {
		t.Errorf("%+v", x)
	}
	x = decode[wire.Explained](s.get(with(readPath, "explain", "1", "order", "desc")))
	if len(x.Tables) != 2 || !x.Tables[0].From.After(x.Tables[1].From) {
		t.Errorf("newest first: %+v", x)
	}
	if x = decode[wire.Explained](s.get(with(readPath, "explain", "1", "to", "2000-01-01"))); x.Tables == nil || len(x.Tables) != 0 || x.Requests != 0 {
		t.Errorf("nothing there: %+v", x)
	}
	s.advance(420 * 24 * time.Hour)
	x = decode[wire.Explained](s.get(with(readPath, "explain", "true")))
	if len(x.Tables) == 0 || x.Tables[0].Action != "skip" || !strings.Contains(x.Tables[0].Why, "expired") {
		t.Errorf("after a year: %+v", x)
	}
	page := decode[wire.ReadingsBody](s.get(readPath))
	if len(page.Readings) != 0 || len(page.Coverage.Expired) != len(x.Tables) || len(page.Coverage.Read) != 0 {
		t.Errorf("after a year: %+v", page.Coverage)
	}
}
