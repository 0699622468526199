package damage_test

import (
	"bufio"
	"fmt"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/tests/varvetest"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Names of environment variables of a separate process, which creates a store. The process closes the
// store if the world requires that. Otherwise the test kills the process once the store has acknowledged
// all data, and then damages the files that the kill leaves.
const (
	buildWorld = "VARVE_DAMAGE_WORLD"
	buildDir   = "VARVE_DAMAGE_DIR"
)

// TestMain creates a store instead of running tests if the environment requests it.
func TestMain(m *testing.M) {
	if name := os.Getenv(buildWorld); name != "" {
		if err := build(name, os.Getenv(buildDir)); err != nil {
			panic(err)
		}
		return
	}
	if err := varvetest.InMemory(m.Run); err != nil {
		panic(err)
	}
}

// build fills the store of a world. If the world requires it, build closes the store. Otherwise
// it reports that it has filled the store, and waits until the test kills the process.
func build(name, dir string) error {
	for _, w := range worlds() {
		if w.name != name {
			continue
		}
		s, err := local.Open(w.options(dir))
		if err != nil {
			return err
		}
		if err := w.fill(s); err != nil {
			return err
		}
		if w.closed {
			return s.Close()
		}
		fmt.Fprintln(os.Stdout, "filled")
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	}
	return fmt.Errorf("no world %q", name)
}

// made creates the store of a world and returns its folder.
func made(t *testing.T, w *world) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), buildWorld+"="+w.name, buildDir+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // the process has ended
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if w.closed {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if err != nil || strings.TrimSpace(line) != "filled" {
		t.Fatalf("the store was not filled: %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // Wait fails, because the process was killed
	return dir
}

func copied(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}
