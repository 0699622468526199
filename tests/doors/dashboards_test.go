package doors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// targetsOf returns the queries of a dashboard, by the titles of their panels.
func targetsOf(t *testing.T, name string) map[string][]target {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(grafanaDir, "dashboards", name))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	all := map[string][]target{}
	for i := range d.Panels {
		all[d.Panels[i].Title] = d.Panels[i].Targets
	}
	return all
}

// TestGrafana_EscapesNamesInPaths checks that names of devices and streams may contain characters such as / and #.
func TestGrafana_EscapesNamesInPaths(t *testing.T) {
	variable := regexp.MustCompile(`\$\{(\w+)(:\w+)?\}`)
	checked := 0
	for title, targets := range targetsOf(t, "varve-device.json") {
		for _, target := range targets {
			path, _, _ := strings.Cut(target.URL, "?")
			for _, m := range variable.FindAllStringSubmatch(path, -1) {
				if checked++; m[2] != ":percentencode" {
					t.Errorf("%s: the path %s has %s, want ${%s:percentencode}", title, path, m[0], m[1])
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no path has a variable")
	}
}

// TestGrafana_CountsOnce checks the totals of a deployment. On DynamoDB, each process reports some gauges
// for the whole deployment, so the panels must not add these up.
func TestGrafana_CountsOnce(t *testing.T) {
	panels := targetsOf(t, "varve-server.json")
	for title, want := range map[string]string{
		"Readings stored per second": `sum(rate(varve_readings_total{job="$job",outcome="stored"}[$__rate_interval]))`,
		"Stored":                     `max(varve_stored_bytes{job="$job"})`,
		"Open alerts":                `sum(max by (severity) (varve_alerts_open{job="$job"}))`,
	} {
		if targets := panels[title]; len(targets) != 1 || targets[0].Expr != want {
			t.Errorf("%s: %+v, want %s", title, targets, want)
		}
	}
}

// TestGrafana_ListsOnlyLateAlerts checks that the table of late alerts has a filter on one of its columns.
func TestGrafana_ListsOnlyLateAlerts(t *testing.T) {
	targets := targetsOf(t, "varve-lateness.json")["Alerts that were late"]
	if len(targets) != 1 {
		t.Fatalf("the table has %d queries, want 1", len(targets))
	}
	hasColumn := slices.ContainsFunc(targets[0].Columns, func(c struct{ Selector, Text string }) bool { return c.Selector == "late" && c.Text == "late" })
	if got := targets[0].FilterExpression; got != "late == true" || !hasColumn {
		t.Errorf("the filter is %q and the table has the column late: %t, want late == true and the column", got, hasColumn)
	}
}
