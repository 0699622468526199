package varve_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	jsonTag   = regexp.MustCompile("`[^`]*json:\"([^,\"]+)")
	snakeCase = regexp.MustCompile(`^(-|[a-z0-9_]+)$`)
)

// othersNames lists the files whose JSON names are defined by other products.
var othersNames = map[string]bool{
	"api/wire/aws.go": true, "api/prometheus_alerts.go": true, "notify/alertmanager.go": true,
}

// TestJSONNames_AreSnakeCase checks the JSON names of the API, notifications, MCP tools, digests and
// receipts.
func TestJSONNames_AreSnakeCase(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"api/*.go", "api/*/*.go", "notify/*.go", "mcp/*.go", "reconcile/*.go", "receipts/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if othersNames[filepath.ToSlash(file)] || isTest(file) {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range jsonTag.FindAllSubmatch(text, -1) {
				checked++
				if !snakeCase.Match(m[1]) {
					t.Errorf("%s: %s is not in snake_case, as all other names of the API", file, m[1])
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d names were found", checked)
	}
}

func isTest(file string) bool {
	matched, err := filepath.Match("*_test.go", filepath.Base(file))
	return err == nil && matched
}
