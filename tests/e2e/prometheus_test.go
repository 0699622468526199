package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

const (
	rulesFile  = "../../packaging/prometheus/varve.rules.yaml"
	operations = "../../docs/operations.md"
)

var metricName = regexp.MustCompile(`\b(varve|process)_[a-z_]+\b`)

// TestRules_UseServedMetrics checks that the server has every metric of the rules, and that
// docs/operations.md has every metric of Varve that the server has.
func TestRules_UseServedMetrics(t *testing.T) {
	s := start(t, t.TempDir(), "--set", "notifiers.hook.kind=webhook", "--set", "notifiers.hook.url=http://127.0.0.1:1")
	send(t, http.MethodPost, s.URL+"/v1/streams/w/readings", "{\"device\":\"d\",\"time\":\"2026-01-01T00:00:00Z\",\"fields\":{\"a\":1}}\n{\"device\":\"d\",\"time\":\"bad\",\"fields\":{\"a\":1}}")
	for _, path := range []string{"/nothing", "/missing"} {
		if status, text := send(t, http.MethodGet, s.URL+path, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _ := send(t, http.MethodDelete, s.URL+"/metrics", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE /metrics: %d", status)
	}
	text := ""
	measured := regexp.MustCompile(`(?m)^varve_(stored_bytes|rollups_backlog|alerts_open\{.*\}) NaN$`)
	if !varvetest.Eventually(func() bool {
		_, text = send(t, http.MethodGet, s.URL+"/metrics", "")
		return !measured.MatchString(text)
	}) {
		t.Errorf("values are not measured: %s", measured.FindAllString(text, -1))
	}
	served := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(text, -1) {
		served[m[1]] = true
	}
	for name, line := range map[string]string{
		"build info": `(?m)^varve_build_info\{commit="[0-9a-f]*",goversion="go1\.[^"]*",version="[^"]+"\} 1$`,
		"unknown":    `(?m)^varve_requests_unknown_total\{status="404"\} 2$`,
		"methods":    `(?m)^varve_requests_unknown_total\{status="405"\} 1$`,
		"alerts":     `(?m)^varve_alerts_open\{severity="critical"\} 0$`,
		"backlog":    `(?m)^varve_rollups_backlog \d+$`,
		"bytes":      `(?m)^varve_stored_bytes [1-9]\S*$`,
		"syncs":      `(?m)^varve_journal_sync_duration_seconds_count [1-9]\d*$`,
	} {
		if !regexp.MustCompile(line).MatchString(text) {
			t.Errorf("%s: no line matches %s:\n%s", name, line, strings.Join(regexp.MustCompile(`(?m)^varve_.*`).FindAllString(text, -1), "\n"))
		}
	}
	rules := readText(t, rulesFile)
	documented := readText(t, operations)
	used := 0
	for _, line := range regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(rules, -1) {
		for _, name := range metricName.FindAllString(line[1], -1) {
			used++
			plain := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			if !served[name] && !served[plain] {
				t.Errorf("rules use %s, which the server does not have", name)
			}
		}
	}
	if used < 15 {
		t.Errorf("%d metrics in the rules", used)
	}
	for name := range served {
		if strings.HasPrefix(name, "varve_") && !strings.Contains(documented, "`"+name+"`") && !strings.Contains(documented, "`"+name+"{") {
			t.Errorf("docs/operations.md lacks %s", name)
		}
	}
}

// TestRules_AlertAsStated checks the rules with Prometheus' own tool: their syntax, and the
// alerts of testdata/prometheus.yaml.
func TestRules_AlertAsStated(t *testing.T) {
	tool := packaged(t, "promtool", "prometheus")
	dir := t.TempDir()
	for from, name := range map[string]string{rulesFile: "varve.rules.yaml", "testdata/prometheus.yaml": "test.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(readText(t, from)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "varve.rules.yaml"}, {"test", "rules", "test.yaml"}} {
		cmd := exec.Command(tool, args...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, text)
		}
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
