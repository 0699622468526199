package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

// TestDoctor_FindsDamage checks that varve doctor finds a truncated file, a missing copy of the
// catalog, and damage that a server has recorded. With --verify, it must also find damaged blocks
// in the files of Pebble.
func TestDoctor_FindsDamage(t *testing.T) {
	whole := counted(t, hourly{})
	doctor := func(dir, want string, code int, args ...string) {
		t.Helper()
		text, is := varveIn(t, dir, append([]string{"doctor", "--listen", "127.0.0.1:0"}, args...)...)
		found := false
		for _, line := range strings.Split(text, "\n") {
			line = strings.Join(strings.Fields(line), " ")
			found = found || strings.Contains(line, want)
		}
		if is != code || !found {
			t.Errorf("exit code %d, want %d with %q:\n%s", is, code, want, text)
		}
	}
	doctor(whole, "quick verify good nothing was found", 0)
	doctor(whole, "recorded damage good none", 0)
	doctor(whole, "verify good no damage was found", 0, "--verify")

	doctor(damagedCopy(t, whole, func(dir string) {
		if err := os.Remove(filepath.Join(dir, "data", "CATALOG")); err != nil {
			t.Fatal(err)
		}
	}), "quick verify wrong", 1)
	doctor(damagedCopy(t, whole, func(dir string) {
		files, err := filepath.Glob(filepath.Join(dir, "data", "pebble", "*.sst"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		if err := os.Truncate(files[0], 5000); err != nil {
			t.Fatal(err)
		}
	}), ".sst", 1)
	blocks := damagedCopy(t, whole, func(dir string) { damageItems(t, dir) })
	doctor(blocks, "quick verify good", 0)
	doctor(blocks, "verify wrong 0", 1, "--verify")

	s := start(t, blocks)
	if text, code := varveIn(t, blocks, "verify", "--server", s.URL); code != 1 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	if !varvetest.Eventually(func() bool { return strings.Contains(s.Output(), "set aside") }) {
		t.Fatal(s.Output())
	}
	doctor(blocks, "recorded damage wrong 0", 1)
	doctor(blocks, "quick verify not checked a server has the folder open", 1)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	doctor(blocks, "items of the registry, ROLLUP#default/fleet", 1)
}

func damagedCopy(t *testing.T, whole string, harm func(dir string)) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	harm(dir)
	return dir
}
