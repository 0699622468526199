package main

import (
	"strings"
	"testing"
)

// TestArchive_NamesMissingArguments checks the error of the commands that take tables.
func TestArchive_NamesMissingArguments(t *testing.T) {
	for _, name := range []string{"now", "verify", "restore"} {
		code, text := runTo(t, "archive", name)
		if want := "varve archive " + name + " takes TABLE… (see varve archive " + name + " --help)"; code != exitUsage || !strings.Contains(text, want) {
			t.Errorf("exit code %d, want %q:\n%s", code, want, text)
		}
	}
}
