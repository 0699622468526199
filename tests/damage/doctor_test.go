package damage_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func buildProgram(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "varve")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", out, "github.com/varvedb/varve/cmd/varve")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

// checkDoctor runs varve doctor --verify on a folder. It must report a problem exactly if verify found
// damage, and must name the first findings of verify.
func (d *damage) checkDoctor(t *testing.T, found []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), d.program, "doctor", "--verify", "--listen", "127.0.0.1:0", "-o", "json")
	cmd.Dir = filepath.Dir(d.dir) // the default folder of the program is data
	text, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Errorf("doctor: %v", err)
		return
	}
	var report struct {
		Findings []struct{ Check, State, Found string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Errorf("doctor: %v in %s", err, text)
		return
	}
	wrong := ""
	for _, f := range report.Findings {
		if f.State == "wrong" {
			wrong += f.Check + ": " + f.Found + "\n"
		}
	}
	if (wrong != "") != (len(found) > 0) || (err != nil) != (len(found) > 0) {
		t.Errorf("doctor ended with %v and reports %q; verify found %q", err, wrong, found)
		return
	}
	const named = 5 // the number of findings that doctor names
	for _, f := range found[:min(named, len(found))] {
		file, _, _ := strings.Cut(f, ": ")
		if !slices.ContainsFunc(strings.Split(wrong, "\n"), func(line string) bool { return strings.Contains(line, filepath.Base(file)) }) {
			t.Errorf("doctor reports %q, and not %q", wrong, f)
		}
	}
}
