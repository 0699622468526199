package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/store/local"
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

// TestVerify_NamesCommandForRunningServer checks that varve doctor --verify and varve verify name the complete
// command that verifies a folder that a server has open.
func TestVerify_NamesCommandForRunningServer(t *testing.T) {
	dir := t.TempDir()
	server, _, _ := serving(t, "--data", dir)
	eventually(t, "the server does not start", func() bool {
		status, _ := ask(t, server+"/readyz")
		return status == http.StatusOK
	})
	address := strings.TrimPrefix(server, "http://")
	want := "varve verify --server " + server
	_, text := runTo(t, "doctor", "--verify", "--data", dir, "--listen", address, "-o", "json")
	if !strings.Contains(text, `"remedy": "let it verify its store: `+want+`"`) {
		t.Errorf("varve doctor does not name %q:\n%s", want, text)
	}
	code, text := runTo(t, "verify", "--data", dir, "--listen", address)
	if code != exitFailure || !strings.HasSuffix(text, want+"\n") {
		t.Errorf("exit code %d, want %q:\n%s", code, want, text)
	}
}

// TestRepair_NamesWholeCommand checks that the hints of varve verify and varve repair name the folder.
func TestRepair_NamesWholeCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my data")
	s, err := local.Open(local.Options{Dir: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.Remove(filepath.Join(dir, "CATALOG"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"verify": "varve repair --data '" + dir + "' --set retention.grace=40d shows",
		"repair": "varve repair --data '" + dir + "' --set retention.grace=40d --apply",
	} {
		if _, text := runTo(t, name, "--data", dir, "--set", "retention.grace=40d"); !strings.Contains(text, want) {
			t.Errorf("want %q:\n%s", want, text)
		}
	}
}
