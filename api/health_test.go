package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
)

// TestHealth_ReportsStateAndMetrics checks the answers of /healthz and /readyz, and that metrics
// count requests and readings.
func TestHealth_ReportsStateAndMetrics(t *testing.T) {
	s := newServer(t, withChanges)
	if r := s.get("/healthz"); r.status != http.StatusOK || r.body != "ok\n" {
		t.Errorf("%d %q", r.status, r.body)
	}
	ready := decode[map[string]any](s.get("/readyz"))
	if ready["ready"] != true || ready["version"] != "v1.2.3" || ready["last_rotation"] != noon.Format(time.RFC3339) || ready["tables_ready_ahead"] != ready["tables_needed_ahead"] {
		t.Errorf("%v", ready)
	}
	s.send("POST", writePath, good(noon)+"\n"+good(noon)+"\n"+good(noon.Add(48*time.Hour)))
	text := s.get("/metrics").body
	for _, line := range []string{
		`varve_readings_total{outcome="stored"} 1`, `varve_readings_total{outcome="duplicate"} 1`, `varve_readings_total{outcome="rejected"} 1`,
		`varve_readings_rejected_total{code="time_in_future"} 1`, "varve_rotation_last_success_timestamp_seconds 1.7",
		`varve_http_request_duration_seconds_count{route="POST /v1/streams/{stream}/readings",status="207"} 1`, "go_goroutines", "varve_tables ",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in the metrics", line)
		}
	}
}

// TestReadyz_RequiresRotation checks that the answer is 503 with the reason until the rotator has
// succeeded.
func TestReadyz_RequiresRotation(t *testing.T) {
	s := newServerBefore(t, func(f *faulty) { f.tables = func(store.Filter) error { return errDisk } })
	r := s.get("/readyz")
	ready := decode[map[string]any](r)
	if r.status != http.StatusServiceUnavailable || ready["ready"] != false || ready["why"] == "" || !strings.Contains(ready["rotation_error"].(string), errDisk.Error()) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if got := s.get("/healthz").status; got != http.StatusOK {
		t.Errorf("not healthy: %d", got)
	}
}

// TestReadyz_RequiresReadableKeys checks that /readyz answers 503 while reads of the API keys fail,
// because the server then refuses all requests.
func TestReadyz_RequiresReadableKeys(t *testing.T) {
	s := newServer(t, nil)
	s.store.failItems(errDisk)
	r := s.get("/readyz")
	if ready := decode[map[string]any](r); r.status != http.StatusServiceUnavailable || ready["ready"] != false || !strings.Contains(r.body, "API keys") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if got := s.send("POST", writePath, good(noon), ndjson...).status; got < 500 {
		t.Errorf("a write has the status %d", got)
	}
	s.store.failItems(nil)
	if got := s.get("/readyz").status; got != http.StatusOK {
		t.Errorf("not ready: %d", got)
	}
}

// TestReadyz_ShowsConditions checks that each condition is shown with its message and the time at
// which it was set, and as a metric. If a condition blocks writes, the status is 503.
func TestReadyz_ShowsConditions(t *testing.T) {
	s := newServer(t, withChanges)
	readiness := func() (status int, r wire.Readiness) {
		reply := s.get("/readyz")
		return reply.status, decode[wire.Readiness](reply)
	}
	if status, r := readiness(); status != http.StatusOK || len(r.Conditions) != 0 {
		t.Errorf("%d %+v", status, r)
	}
	conditions := s.engine.Conditions
	conditions.Set(health.RotationFailing, "tune varve_1_2_11_2026: refused")
	status, r := readiness()
	want := []wire.Condition{{Name: "rotation_failing", Since: noon, Message: "tune varve_1_2_11_2026: refused"}}
	if status != http.StatusOK || !r.Ready || !slices.Equal(r.Conditions, want) {
		t.Errorf("%d %+v", status, r)
	}
	conditions.Set(health.DiskLow, "/data has 3 MiB free")
	if status, r = readiness(); status != http.StatusServiceUnavailable || r.Ready || r.Why != health.DiskLow.About() || len(r.Conditions) != 2 {
		t.Errorf("%d %+v", status, r)
	}
	text := s.get("/metrics").body
	for _, line := range []string{`varve_condition{condition="disk_low"} 1`, `varve_condition{condition="rotation_failing"} 1`, `varve_condition{condition="store_unreachable"} 0`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in the metrics", line)
		}
	}
	conditions.Clear(health.DiskLow)
	conditions.Clear(health.RotationFailing)
	if status, r = readiness(); status != http.StatusOK || len(r.Conditions) != 0 {
		t.Errorf("%d %+v", status, r)
	}
}
