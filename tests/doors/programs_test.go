package doors

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
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

// startTelegraf starts Telegraf with a configuration of docs/examples and an input that gives the
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
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }) // it hangs
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

// writeJS writes with InfluxData's client library for JavaScript.
func writeJS(t *testing.T, url, key string, lines []string) error {
	cmd := exec.CommandContext(t.Context(), "node", "testdata/write.js", cached(t, "package"), url, key, writeLines(t, lines))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
