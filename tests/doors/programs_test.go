package doors

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

// cached returns a file that tools.sh fetched.
func cached(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "varve", "doors", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is missing: run tests/doors/tools.sh", path)
	}
	return path
}

// startTelegraf starts Telegraf with a configuration of docs/examples, and an input that prints the
// lines once.
func startTelegraf(t *testing.T, config, url, key string, lines []string) {
	t.Helper()
	input := filepath.Join(t.TempDir(), "input.conf")
	text := fmt.Sprintf("[[inputs.execd]]\n  command = [\"sh\", \"-c\", \"cat %s; exec sleep 1000\"]\n  signal = \"none\"\n  data_format = \"influx\"\n",
		writeLines(t, lines))
	if err := os.WriteFile(input, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	example := filepath.Join("..", "..", "docs", "examples", config)
	cmd := exec.Command(cached(t, "telegraf"), "--config", example, "--config", input)
	cmd.Env = append(os.Environ(), "VARVE_URL="+url, "VARVE_KEY="+key)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }) // in case Telegraf hangs
		defer kill.Stop()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Logf("telegraf: %v", err)
		}
		if t.Failed() {
			t.Logf("%s", output.Bytes())
		}
	})
}

// debian returns a file of a Debian package that tools.sh fetched. If the file is missing, it skips the
// test, or fails it with CI=true.
func debian(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "varve", "doors", "debian", "usr", name)
	if _, err := os.Stat(path); err != nil {
		varvetest.SkipOutsideCI(t, "%s is missing: the test needs a package of Debian", path)
	}
	return path
}

// writeCLI imports the lines with InfluxDB 1's command line. The import has failed unless the
// output has "Failed 0 inserts".
func writeCLI(t *testing.T, url, key string, lines []string) error {
	text := append([]string{"# DML", "# CONTEXT-DATABASE: db"}, lines...)
	address := strings.TrimPrefix(url, "http://")
	host, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(t.Context(), debian(t, "bin/influx"), "-host", host, "-port", port, "-username", "any", "-password", key,
		"-import", "-path", writeLines(t, text), "-precision", "ns")
	out, err := cmd.CombinedOutput()
	if err == nil && !bytes.Contains(out, []byte("Failed 0 inserts")) {
		err = errors.New("inserts failed")
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func writePython(t *testing.T, url, key string, lines []string) error {
	packages := debian(t, "lib/python3/dist-packages")
	host, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/write.py", host, port, key, writeLines(t, lines))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("ModuleNotFoundError")) {
		t.Skipf("a module of Python is missing: %s", out)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// writeJS writes with InfluxData's client library for JavaScript.
func writeJS(t *testing.T, url, key string, lines []string) error {
	cmd := exec.CommandContext(t.Context(), "node", "testdata/write.js", cached(t, "package"), url, key, writeLines(t, lines))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// writeJS3 returns a function that writes with InfluxData's client library for InfluxDB 3.
func writeJS3(route string) func(t *testing.T, url, key string, lines []string) error {
	return func(t *testing.T, url, key string, lines []string) error {
		cmd := node(t, "influx3", "write3.mjs", url, key, writeLines(t, lines), route)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		requireLine(t, string(out))
		return fmt.Errorf("%w: %s", err, out)
	}
}

// node returns a command that runs a script of testdata with the packages that tools.sh fetched into
// a folder.
func node(t *testing.T, folder, script string, args ...string) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	// Copy the script into a new folder with a link to the packages, because Node looks for packages beside
	// the script.
	dir := t.TempDir()
	path := filepath.Join(dir, script)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cached(t, filepath.Join(folder, "node_modules")), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return exec.Command("node", append([]string{path}, args...)...)
}
