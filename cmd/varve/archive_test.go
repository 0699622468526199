package main

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/wire"
)

// TestArchive_NamesMissingArguments checks that commands that take tables name the missing argument.
func TestArchive_NamesMissingArguments(t *testing.T) {
	for _, name := range []string{"now", "verify", "restore"} {
		code, text := runTo(t, "archive", name)
		if want := "varve archive " + name + " takes TABLE… (see varve archive " + name + " --help)"; code != exitUsage || !strings.Contains(text, want) {
			t.Errorf("exit code %d, want %q:\n%s", code, want, text)
		}
	}
}

// TestArchiveQuery_NamesArchivedReadings checks the error of a query without an archive, and the text
// of an empty answer. The text must name archived readings, because other readings may exist.
func TestArchiveQuery_NamesArchivedReadings(t *testing.T) {
	query := func(settings ...string) (text string) {
		server, _, _ := serving(t, append(settings, "--data", filepath.Join(t.TempDir(), "data"))...)
		eventually(t, "the server does not start", func() bool {
			status, _ := ask(t, server+"/readyz")
			return status == http.StatusOK
		})
		c := exec(t, server, "time,temperature\n2026-01-01T00:00:00Z,1\n", "ingest", "--stream", "weather", "--device", "d1", "--format", "csv", "-")
		if !strings.Contains(c, "1 stored") {
			t.Fatal(c)
		}
		return exec(t, server, "", "archive", "query", "weather", "d1", "--during", "2026-01")
	}
	if text, want := query("--set", "archive.kind=folder", "--set", "archive.dir="+t.TempDir()), "Device d1 has no archived readings in stream weather in this window."; !strings.Contains(text, want) {
		t.Errorf("want %q:\n%s", want, text)
	}
	if text, want := query(), "no archive is configured: set archive.kind"; !strings.Contains(text, want) {
		t.Errorf("want %q:\n%s", want, text)
	}
}

// exec runs a command against a server, and returns its output and its errors.
func exec(t *testing.T, server, in string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	execute(t.Context(), append(args, "--server", server), std{in: strings.NewReader(in), out: &out, err: &out})
	return out.String()
}

// TestAsOf_IsPrinted checks that commands print a line about --as-of, also for empty answers.
func TestAsOf_IsPrinted(t *testing.T) {
	server := picturesServer(t)
	for _, args := range [][]string{
		{"rollups", "weather", "s1", "--as-of", "-1s"}, {"rollups", "weather", "s1", "--as-of", "2020-01-01"},
		{"latest", "weather", "--as-of", "2020-01-01"}, {"latest", "weather", "s1", "--as-of", "2020-01-01"},
	} {
		if text := exec(t, server, "", args...); !strings.Contains(text, "As of ") {
			t.Errorf("%v prints no line about --as-of:\n%s", args, text)
		}
	}
}

// TestArchiveAccept_PrintsPossibleLoss prints a plan whose days are unknown. The text must have the missing
// and added readings, and the CSV must have the digest.
func TestArchiveAccept_PrintsPossibleLoss(t *testing.T) {
	p := wire.AcceptPlan{Table: "t", Unexplained: 3, Added: 4, Merged: "merged-1", DaysUnknown: true, Digest: "0123456789abcdef"}
	for output, want := range map[string]string{"table": "3 missing and 4 added without a known reason.", "csv": "plan,,,,,0,0123456789abcdef"} {
		var out bytes.Buffer
		a := archiveCommands{&app{std: &std{out: &out}, output: output}}
		if err := a.showAcceptPlan(&p); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, want) || strings.Contains(text, "No reading is known to be missing.") || output == "table" && !strings.Contains(text, "merged-1") {
			t.Errorf("%s: want %q:\n%s", output, want, text)
		}
	}
}
