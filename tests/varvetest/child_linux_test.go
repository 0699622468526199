package varvetest_test

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

// TestStartChild_EndsWithProcess kills a process that has started a child. The child must end, too. It
// holds the write end of a pipe, so a read of the pipe ends when the child has ended.
func TestStartChild_EndsWithProcess(t *testing.T) {
	if os.Getenv("VARVE_PARENT") != "" {
		child := exec.Command("sleep", "600")
		child.Stdout = os.Stdout
		if err := varvetest.StartChild(child); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString("+"); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // the parent is killed meanwhile
		return
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }() // it was only read
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStartChild_EndsWithProcess$")
	parent.Env, parent.Stdout = append(os.Environ(), "VARVE_PARENT=1"), in
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if err := out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Errorf("the child did not start: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // it was killed
	if _, err := io.ReadAll(out); err != nil {
		t.Errorf("the child did not end: %v", err)
	}
}
