package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctor_ChecksArchive checks that varve doctor tests the folder of the archive, and creates nothing. The
// error of varve serve must name the setting, too.
func TestDoctor_ChecksArchive(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		archive, want string
		code          int
	}{
		{filepath.Join(dir, "new", "archive"), "does not exist yet: varve serve creates it", exitOK},
		{dir, "archive good " + dir, exitOK},
		{filepath.Join(file, "archive"), "archive.dir", exitFailure},
	} {
		code, text := runTo(t, "doctor", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--set", "archive.kind=folder", "--set", "archive.dir="+row.archive)
		if text = strings.Join(strings.Fields(text), " "); code != row.code || !strings.Contains(text, row.want) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s", row.archive, code, row.code, row.want, text)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("varve doctor left %v, %v", entries, err)
	}
	if _, text := runTo(t, "doctor", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data")); strings.Contains(text, "archive") {
		t.Errorf("a check of an archive that is not configured:\n%s", text)
	}
	code, text := runTo(t, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--set", "archive.kind=folder", "--set", "archive.dir="+filepath.Join(file, "archive"))
	if code != exitFailure || !strings.Contains(text, "archive.dir: create the folder") {
		t.Errorf("exit code %d: %s", code, text)
	}
}
