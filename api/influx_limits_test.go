package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/health"
)

// TestInflux_RefusesForeignDatabases checks the answer to writes to a database that is not configured.
// The bucket may also name a retention policy.
func TestInflux_RefusesForeignDatabases(t *testing.T) {
	s := start(t, nil, nil, func(o *api.Options) { o.Influx.Databases = []string{"telegraf", "home"} })
	for _, path := range []string{"/write?db=other", "/api/v2/write?bucket=other/autogen", "/api/v3/write_lp?db=Telegraf"} {
		s.send(http.MethodPost, path, point(1)).influxError(404, "not found", "database not found")
	}
	if s.stored() != 0 {
		t.Errorf("%d readings of foreign databases are stored", s.stored())
	}
	for i, path := range []string{"/write?db=home", "/api/v2/write?bucket=telegraf/autogen", "/api/v3/write_lp?db=telegraf"} {
		if r := s.send(http.MethodPost, path, point(i)); r.status != 204 {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	const refused = "the database is not one of influx.databases"
	for q, isRefused := range map[string]bool{"CREATE+DATABASE+other": true, "CREATE+DATABASE+home": false} {
		if r := s.get("/query?q=" + q); r.status != 200 || strings.Contains(r.body, refused) != isRefused {
			t.Errorf("%s: %d %s, want refused %t", q, r.status, r.body, isRefused)
		}
	}
	if r := s.get("/query?q=SHOW+DATABASES"); !strings.Contains(r.body, `"values":[["telegraf"],["home"]]`) {
		t.Errorf("the databases are %s", r.body)
	}
}

// TestInflux_ReportsHealth checks that /health and /ready fail while no reading can be stored.
func TestInflux_ReportsHealth(t *testing.T) {
	s := newServer(t, nil)
	check := func(status int, want, message string) {
		t.Helper()
		r := s.get("/health")
		if b := decode[wire.InfluxHealth](r); r.status != status || b.Status != want || b.Message != message {
			t.Errorf("%d %s, want %d %s: %s", r.status, r.body, status, want, message)
		}
	}
	const good = "ready for queries and writes"
	check(200, "pass", good)
	s.engine.Conditions.Set(health.RotationFailing, "does not block writes")
	check(200, "pass", good)
	s.engine.Conditions.Set(health.DiskLow, "/data has 3 MiB free")
	check(503, "fail", health.DiskLow.About())
	for _, path := range []string{"/ready", "/api/v2/ready"} {
		s.get(path).influxError(503, "unavailable", health.DiskLow.About())
	}
	s.engine.Conditions.Clear(health.DiskLow)
	check(200, "pass", good)
	if r := s.get("/ready"); r.status != 200 || decode[wire.InfluxReady](r).Status != "ready" {
		t.Errorf("ready: %d %s", r.status, r.body)
	}
}
