package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

// cached returns a path below the user's cache.
func cached(t *testing.T, name ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{cache, "varve"}, name...)...)
}

// packaged returns the path of an installed program, or of the one in a Debian package. It fetches the
// package into the user's cache once, and does not install it. If neither exists, it skips the test, or
// fails it with CI=true.
func packaged(t *testing.T, program, pkg string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	path := cached(t, "packages", program)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	work := t.TempDir()
	fetch := exec.Command("sh", "-c", `{ apt-get download -qq "$1" || { apt-get update -qq && apt-get download -qq "$1"; }; } && dpkg -x "$1"_*.deb root`, "sh", pkg)
	fetch.Dir = work
	if text, err := fetch.CombinedOutput(); err != nil {
		varvetest.SkipOutsideCI(t, "%s is neither installed nor a package of this system: %v\n%s", program, err, text)
	}
	// The program is renamed when the copy is complete, because other tests may fetch it meanwhile.
	complete := exec.Command("sh", "-c", `cp "$1" "$2.$$" && mv "$2.$$" "$2"`, "sh", filepath.Join(work, "root/usr/bin", program), path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), complete.Run()); err != nil {
		t.Fatal(err)
	}
	return path
}

// telegraf returns the path of Telegraf, which is built into the user's cache once. That takes some
// minutes. So a short run skips the test if Telegraf is not built yet.
func telegraf(t *testing.T) string {
	t.Helper()
	const version = "1.37.2"
	dir := cached(t, "telegraf-"+version)
	path := filepath.Join(dir, "telegraf")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if testing.Short() {
		t.Skip("Telegraf is not built yet: the whole tests build it")
	}
	build := exec.Command("go", "install", "-tags", "custom,inputs.file,outputs.http,parsers.influx,serializers.json", "github.com/influxdata/telegraf/cmd/telegraf@v"+version)
	build.Dir = t.TempDir() // outside Varve's module, whose go.mod then does not apply
	build.Env = append(os.Environ(), "GOBIN="+dir)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build Telegraf: %v\n%s", err, text)
	}
	return path
}
