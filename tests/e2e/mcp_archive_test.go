package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMCP_ReadsArchives queries readings that are only in an archive. Each tool with the argument
// "archive" must return them if the argument is "true" or "only", and otherwise none of them.
func TestMCP_ReadsArchives(t *testing.T) {
	dir := t.TempDir()
	setClock := func(ahead time.Duration) {
		t.Helper()
		tmp := filepath.Join(dir, clockFile+".new")
		if err := errors.Join(os.WriteFile(tmp, []byte(ahead.String()), 0o600), os.Rename(tmp, filepath.Join(dir, clockFile))); err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * time.Hour
	setClock(-130 * day)
	server := start(t, dir, "--set", "retention.drop=archived", "--set", "retention.grace=7d", "--set", "retention.schedule=0 0 29 2 *",
		"--set", "archive.kind=folder", "--set", "archive.dir="+t.TempDir(), "--set", "classes.default.retention=30d").URL
	first := time.Now().UTC().Add(-131 * day).Truncate(time.Hour)
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, `{"device":"s1","time":%q,"fields":{"temperature":%d}}`+"\n", first.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), i)
	}
	runWith(t, server, "", lines.String(), "ingest", "--quiet", "--stream", "weather", "--format", "ndjson", "-")
	var table string
	for line := range strings.Lines(runWith(t, server, "", "", "tables", "list", "-o", "csv")) {
		if strings.Contains(line, ",40,") {
			table = regexp.MustCompile(`varve(_\d+){4}`).FindString(line)
		}
	}
	setClock(-60 * day)
	runWith(t, server, "", "", "tables", "apply")
	setClock(0)
	runWith(t, server, "", "", "archive", "now", table)
	runWith(t, server, "", "", "tables", "apply")
	s := host(t, server, "")
	for archive, want := range map[string]int{"": 0, "true": 40, "only": 40, "false": 0} {
		args := map[string]any{"stream": "weather", "device": "s1", "from": first.Format(time.RFC3339), "archive": archive}
		var got struct {
			Count    int
			Archived []string
		}
		if failure := callTool(t, s, "query", args, &got); failure != "" || got.Count != want || slices.Contains(got.Archived, table) != (want > 0) {
			t.Errorf("query with archive %q: %s%+v, want %d", archive, failure, got, want)
		}
		var late struct{ Readings int }
		if failure := callTool(t, s, "lateness", args, &late); failure != "" || late.Readings != want {
			t.Errorf("lateness with archive %q: %s%+v, want %d", archive, failure, late, want)
		}
		delete(args, "device")
		args["devices"], args["step"] = []string{"s1"}, "1h"
		var buckets struct{ Buckets []struct{ Readings int } }
		if failure := callTool(t, s, "aggregate", args, &buckets); failure != "" || len(buckets.Buckets) != min(want, 1) || want > 0 && buckets.Buckets[0].Readings != want {
			t.Errorf("aggregate with archive %q: %s%+v, want %d", archive, failure, buckets, want)
		}
	}
	if failure := callTool(t, s, "query", map[string]any{"stream": "weather", "device": "s1", "archive": "perhaps"}, nil); !strings.Contains(failure, "archive") {
		t.Errorf("an unknown value of archive: %q", failure)
	}
}
