package e2e

import (
	"bytes"
	"github.com/varvedb/varve/tests/varvetest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples_PrintDocumentedOutput runs each script in docs/examples twice on one server, and
// compares the output with the file next to the script.
func TestExamples_PrintDocumentedOutput(t *testing.T) {
	scripts, err := filepath.Glob("../../docs/examples/*.sh")
	if err != nil || len(scripts) != 4 {
		t.Fatalf("%d examples, %v", len(scripts), err)
	}
	dir := t.TempDir()
	s, err := varvetest.Start(t.Context(), binary, dir, "--data", filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	for _, script := range scripts {
		for _, time := range []string{"first", "second"} {
			t.Run(filepath.Base(script)+" "+time, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), "sh", script)
				cmd.Env = append(os.Environ(), "VARVE_SERVER="+s.URL, "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
				cmd.Stderr = os.Stderr
				got, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v, after\n%s", err, got)
				}
				compareOutput(t, strings.TrimSuffix(script, ".sh")+".out", got)
			})
		}
	}
}

func compareOutput(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil { //nolint:gosec // every user may read it
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("it prints\n%s\nand %s says\n%s", got, file, want)
	}
}
