package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
)

// levels returns a server with ten readings of device d1, an hour apart, the last at noon. Field t
// counts from 0 to 9. Field level is "error" in every third reading, and "info" in the others.
// Only the last reading has the field "rare".
func levels(t *testing.T) *server {
	t.Helper()
	s := newServer(t, nil)
	var lines []string
	for i := range 10 {
		level, more := "info", ""
		if i%3 == 0 {
			level = "error"
		}
		if i == 9 {
			more = `,"rare":1`
		}
		at := noon.Add(time.Duration(i-9) * time.Hour).Format(time.RFC3339)
		lines = append(lines, fmt.Sprintf(`{"device":"d1","time":%q,"fields":{"t":%d,"level":%q%s}}`, at, i, level, more))
	}
	s.write(lines...)
	return s
}

func TestWhere_SelectsReadings(t *testing.T) {
	s := levels(t)
	for _, tt := range []struct {
		reason string
		params []string
		want   string
	}{
		{"one condition", []string{"where", "level=error"}, "0 3 6 9"},
		{"two conditions", []string{"where", "level=error and t>3"}, "6 9"},
		{"two parameters", []string{"where", "level=error", "where", "t<=3"}, "0 3"},
		{"a missing field", []string{"where", "rare!=2"}, "9"},
		{"other fields returned", []string{"where", "level=error", "fields", "t"}, "0 3 6 9"},
		{"a limit", []string{"where", "level=error", "order", "desc", "limit", "2"}, "9 6"},
		{"nothing", []string{"where", "t>9"}, ""},
	} {
		for _, format := range []string{"json", "ndjson", "csv", "columns"} {
			r := s.get(with(readPath, append(tt.params, "format", format)...))
			if r.status != http.StatusOK {
				t.Fatalf("%s: %s", tt.reason, r.body)
			}
			if got := strings.Count(r.body, noon.Format(time.DateOnly)+"T"); format == "ndjson" && got/2 != len(strings.Fields(tt.want)) {
				t.Errorf("%s: %s", tt.reason, r.body)
			}
			if format != "json" {
				continue
			}
			var got []string
			for _, one := range decode[wire.ReadingsBody](r).Readings {
				got = append(got, fmt.Sprint(one.Fields["t"]))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
			}
		}
	}
}

// TestWhere_BoundsWork checks that a page of a query with a filter ends after a number of compared
// readings. The cursor of the page must continue the query, even if no reading of the page matches.
func TestWhere_BoundsWork(t *testing.T) {
	s := levels(t)
	var all []string
	pages, cursor := 0, ""
	for ; pages == 0 || cursor != ""; pages++ {
		params := []string{"where", "t=4", "scan_limit", "3"}
		if cursor != "" {
			params = append(params, "cursor", cursor)
		}
		a := decode[wire.ReadingsBody](s.get(with(readPath, params...)))
		for _, one := range a.Readings {
			all = append(all, fmt.Sprint(one.Fields["t"]))
		}
		cursor = a.Next
	}
	if strings.Join(all, " ") != "4" {
		t.Errorf("%d pages: %v", pages, all)
	}
	next := decode[wire.ReadingsBody](s.get(with(readPath, "where", "level=error", "limit", "1"))).Next
	s.get(with(readPath, "where", "t>1", "limit", "1", "cursor", next)).problem(http.StatusBadRequest, "query.cursor", "belongs to another query")
	for _, tt := range []struct{ params, param, problem string }{
		{"where=t%3D", "query.where", "a value is missing"},
		{"where=", "query.where", "a field is missing"},
		{"scan_limit=5", "query.scan_limit", "requires where"},
		{"where=t=1&scan_limit=1000001", "query.scan_limit", "1000000"},
	} {
		s.get(readPath+"?"+tt.params).problem(http.StatusBadRequest, tt.param, tt.problem)
	}
}

func TestWhere_SelectsInAggregatesAndCounts(t *testing.T) {
	s := levels(t)
	r := s.get(with(aggregatePath, "step", "1d", "functions", "mean,count", "fields", "t", "where", "level=error"))
	if a := decode[wire.AggregatesBody](r); len(a.Buckets) != 1 || a.Buckets[0].Readings != 4 || string(a.Buckets[0].Fields["t"]["mean"]) != "4.5" {
		t.Errorf("%s", r.body)
	}
	if a := decode[wire.CountsBody](s.get(with("/v1/streams/weather/counts", "where", "level=error and t>0"))); a.Readings != 3 || a.Devices != 1 {
		t.Errorf("%+v", a)
	}
	s.get(with(aggregatePath, "step", "1d", "source", "rollups", "where", "t>0")).problem(http.StatusBadRequest, "query.where", "source=rollups")
	s.get(with("/v1/streams/weather/counts", "source", "rollups", "where", "t>0")).problem(http.StatusBadRequest, "query.where", "source=rollups")
	for _, path := range []string{readPath + "?", aggregatePath + "?step=1d&", "/v1/streams/weather/counts?"} {
		if r := s.get(path + "where=temprature>1"); r.status != http.StatusOK || !strings.Contains(r.body, `"param":"query.where"`) || !strings.Contains(r.body, `temprature\": not found`) {
			t.Errorf("%s: an unknown field: %d %s", path, r.status, r.body)
		}
		if r := s.get(path + "where=level>5"); r.status != http.StatusOK || !strings.Contains(r.body, `field \"level\": its values here are of the kind string`) {
			t.Errorf("%s: a number for a field with strings: %d %s", path, r.status, r.body)
		}
		if r := s.get(path + "where=rare>1"); strings.Contains(r.body, "notes") {
			t.Errorf("%s: a rare field: %s", path, r.body)
		}
	}
}
