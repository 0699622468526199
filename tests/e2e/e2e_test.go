package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/varvedb/varve/tests/varvetest"
)

var update = flag.Bool("update", false, "rewrite what scripts expect of cmp")

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m)) //nolint:forbidigo // what a TestMain must do
}

func buildAndRun(m *testing.M) int {
	flag.Parse()
	dir, err := os.MkdirTemp("", "varve-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The clock's file is looked for in the folder that the program runs in:
	// each script has its own.
	binary, err = varvetest.Build(context.Background(), dir, clockFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server":    server,
			"clock":     clock,
			"http":      httpCall,
			"make-file": makeFile,
			"await":     await,
		},
	})
}

func setup(env *testscript.Env) error {
	env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Setenv("HOME", env.WorkDir)
	holder := &servers{}
	env.Values[serversKey{}] = holder
	env.Defer(holder.killAll)
	return setClock(env.WorkDir, tourDay)
}
