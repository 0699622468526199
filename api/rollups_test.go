package api_test

import (
	"fmt"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func numbered(device string, at time.Time, fields string) string {
	return fmt.Sprintf(`{"device":%q,"time":%q,"fields":{%s}}`, device, at.Format(time.RFC3339Nano), fields)
}

// TestRollups_AreExact checks exact numbers of the requested fields, by period. Periods without
// readings must be left out. A period that is partly in the window must be returned as a whole.
func TestRollups_AreExact(t *testing.T) {
	s := newServer(t, nil)
	s.write(
		numbered("d1", noon.Add(-time.Minute), `"t":22.40,"n":12345678901234567890123456789012345678,"on":true`),
		numbered("d1", noon.Add(-2*time.Minute), `"t":22.5,"n":1e-30`),
		numbered("d1", noon.Add(-3*time.Minute), `"t":22.7`),
		numbered("d1", noon.Add(-26*time.Hour), `"note":"no number"`),
		numbered("d2", noon, `"t":1`),
	)
	r := s.get(with(rollupsPath, "period", "hourly"))
	want := `{"rollups":[
{"start":"2026-11-17T10:00:00Z","readings":1,"fields":{}},
{"start":"2026-11-18T11:00:00Z","readings":3,"fields":{` +
		`"n":{"count":2,"sum":12345678901234567890123456789012345678.000000000000000000000000000001,"min":0.000000000000000000000000000001,` +
		`"max":12345678901234567890123456789012345678,"mean":6172839450617283945061728394506172839,` +
		`"first":{"time":"2026-11-18T11:58:00Z","id":"ID","value":0.000000000000000000000000000001},"last":{"time":"2026-11-18T11:59:00Z","id":"ID","value":12345678901234567890123456789012345678}},` +
		`"t":{"count":3,"sum":67.6,"min":22.4,"max":22.7,"mean":22.533333333333333333,` +
		`"first":{"time":"2026-11-18T11:57:00Z","id":"ID","value":22.7},"last":{"time":"2026-11-18T11:59:00Z","id":"ID","value":22.40}}}}]}
`
	body := r.body
	for _, read := range decode[wire.ReadingsBody](s.get(readPath)).Readings {
		body = strings.ReplaceAll(body, read.ID, "ID")
	}
	if body != want || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("got\n%s\nwant\n%s", body, want)
	}
	if without := s.get(rollupsPath); without.body != r.body {
		t.Errorf("without a period: %s", without.body)
	}
	day := decode[wire.RollupsBody](s.get(with(rollupsPath, "period", "daily", "fields", "t,x", "from", "2026-11-18T11:58:30Z", "to", "now")))
	if len(day.Rollups) != 1 || day.Rollups[0].Readings != 3 || len(day.Rollups[0].Fields) != 1 || string(day.Rollups[0].Fields["t"].Sum) != "67.6" || day.Next != "" {
		t.Errorf("%+v", day)
	}
	if none := s.get(with(rollupsPath, "period", "daily", "during", "1999")); none.body != "{\"rollups\":[]}\n" {
		t.Errorf("%q", none.body)
	}
	if r := s.send(http.MethodPost, rollupsPath, ""); r.body != "{\"hours\":0,\"left\":0}\n" {
		t.Errorf("nothing was left out: %q", r.body)
	}
}

func TestRollups_NameInvalidParameter(t *testing.T) {
	s := newServer(t, nil)
	for _, c := range []struct {
		query, param, says string
	}{
		{"period=", "query.period", "use hourly or daily"},
		{"period=weekly", "query.period", "use hourly or daily"},
		{"period=daily&from=2026-11-18&to=2026-11-17", "query.to", "before from"},
		{"period=daily&from=soon", "query.from", "soon"},
		{"period=daily&to=1763715600", "query.to", "seconds"},
		{"period=daily&limit=0", "query.limit", "from 1 to 10000"},
		{"period=daily&limit=10001", "query.limit", "from 1 to 10000"},
		{"period=daily&cursor=x", "query.cursor", "unknown parameter"},
		{"period=daily&timezone=Nowhere", "query.timezone", "Nowhere"},
	} {
		s.get(rollupsPath+"?"+c.query).problem(http.StatusBadRequest, c.param, c.says)
	}
	s.get("/v1/streams/a%20b/devices/d/rollups?period=daily").problem(http.StatusBadRequest, "path.stream", "letters")
	s.send(http.MethodPost, rollupsPath+"?period=daily", "").problem(http.StatusBadRequest, "query.period", "unknown parameter")
	off := newServer(t, func(o *engine.Options, _ *api.Limits) { o.NoRollups = true })
	off.get(rollupsPath+"?period=daily").problem(http.StatusConflict, "", "rollups.enabled")
	off.send(http.MethodPost, rollupsPath, "").problem(http.StatusConflict, "", "rollups.enabled")
}

// TestRollups_PagesEqualWhole checks that pages of any size together are the whole list. It reads
// them over HTTP and with the client.
func TestRollups_PagesEqualWhole(t *testing.T) {
	s := newServer(t, nil)
	for i := range 40 {
		s.write(numbered("d1", noon.Add(-time.Duration(i*i)*time.Hour), `"t":1`))
	}
	whole := decode[wire.RollupsBody](s.get(with(rollupsPath, "period", "hourly")))
	if len(whole.Rollups) != 40 {
		t.Fatalf("%d roll-ups", len(whole.Rollups))
	}
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 7, 40} {
		for _, wait := range []time.Duration{0, 3 * time.Hour} { // before and after the recount of dirty hours
			s.advance(wait)
			if _, err := s.engine.Aggregator.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			n := 0
			for r, err := range c.Rollups(t.Context(), client.RollupQuery{Stream: "weather", Device: "d1", Period: "hourly", Limit: limit}) {
				if err != nil {
					t.Fatal(err)
				}
				if n >= len(whole.Rollups) || r.Start != whole.Rollups[n].Start || r.Readings != 1 {
					t.Fatalf("limit %d, at %d: %+v", limit, n, r)
				}
				n++
			}
			if n != len(whole.Rollups) {
				t.Errorf("limit %d: %d roll-ups", limit, n)
			}
		}
	}
	next := decode[wire.RollupsBody](s.get(rollupsPath + "?period=hourly&limit=3")).Next
	if _, err := time.Parse(time.RFC3339, next); err != nil || decode[wire.RollupsBody](s.get(rollupsPath + "?period=hourly&limit=1&from=" + url.QueryEscape(next))).Rollups[0].Start != whole.Rollups[3].Start {
		t.Errorf("next is %q", next)
	}
}
