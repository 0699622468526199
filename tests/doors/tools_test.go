package doors

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTools_RetriesFailedDownloads runs tools.sh while the mirror of Debian fails, and then while it
// works. With CI=true, tools.sh must fail while the mirror fails. Otherwise it must succeed without the
// packages of Debian.
func TestTools_RetriesFailedDownloads(t *testing.T) {
	complete := cached(t, ".")
	home, programs := t.TempDir(), t.TempDir()
	cache := filepath.Join(home, "varve", "doors")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	fetched, err := os.ReadDir(complete)
	for _, entry := range fetched {
		if entry.Name() != "debian" {
			err = errors.Join(err, os.Symlink(filepath.Join(complete, entry.Name()), filepath.Join(cache, entry.Name())))
		}
	}
	program := func(name, text string) {
		err = errors.Join(err, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700)) //nolint:gosec // it is a program
	}
	program("dpkg", "exit 0")
	program("apt-get", "exit 100")
	if err != nil {
		t.Fatal(err)
	}
	runTools := func(args, environ []string, want int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "./tools.sh", args...)
		cmd.Env = append(os.Environ(), append(environ, "XDG_CACHE_HOME="+home, "PATH="+programs+":"+os.Getenv("PATH"))...)
		out, _ := cmd.CombinedOutput() // the exit code is compared
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("tools.sh %v with %v: exit code %d, want %d\n%s", args, environ, got, want, out)
		}
	}
	inCI, local, ifCached := []string{"CI=true"}, []string{"CI="}, []string{"--if-cached"}
	runTools(nil, local, 0)
	runTools(nil, inCI, 1)
	runTools(ifCached, local, 0)
	runTools(ifCached, inCI, 3)
	program("apt-get", `[ "$1 $2" != "-qq download" ] || : >package.deb`)
	runTools(nil, inCI, 0)
	runTools(ifCached, inCI, 0)
}
