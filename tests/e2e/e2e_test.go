package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/varvedb/varve/tests/dynamotest"
	"github.com/varvedb/varve/tests/varvetest"
)

var update = flag.Bool("update", false, "rewrite what scripts expect of cmp")

var binary string

func TestMain(m *testing.M) {
	code := 0
	err := varvetest.InMemory(func() int {
		code = buildAndRun(m)
		return code
	})
	if err != nil {
		panic(err)
	}
	os.Exit(code) //nolint:forbidigo // only TestMain may exit
}

func buildAndRun(m *testing.M) int {
	flag.Parse()
	dir, err := os.MkdirTemp("", "varve-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The program reads the file of its clock from its working folder, which is different for
	// each script.
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

func TestScripts_MatchOutput(t *testing.T) {
	p := params(nil)
	p.Dir = "testdata"
	testscript.Run(t, p)
}

// TestScripts_MatchOutputOnDynamoDB runs scripts on emulators of DynamoDB. It runs the scripts
// about DynamoDB, and other scripts that do not depend on folders or counts of the embedded store.
func TestScripts_MatchOutputOnDynamoDB(t *testing.T) {
	emulators := []dynamotest.Emulator{dynamotest.Dynoxide, dynamotest.Local}
	if testing.Short() {
		emulators = emulators[:1]
	}
	for _, e := range emulators {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			var scripts atomic.Int64
			p := params(func(env *testscript.Env) []string {
				// Each script uses its own tables.
				prefix := fmt.Sprintf("e2e%d", scripts.Add(1))
				env.Setenv("PREFIX", prefix)
				// These variables are for commands that open the store themselves.
				for name, value := range map[string]string{"VARVE_STORE_KIND": "dynamodb", "VARVE_STORE_ENDPOINT": url, "VARVE_TABLES_PREFIX": prefix} {
					env.Setenv(name, value)
				}
				return []string{"--store", "dynamodb", "--set", "store.endpoint=" + url, "--set", "tables.prefix=" + prefix}
			})
			p.UpdateScripts = false
			for _, script := range []string{
				"ingest", "query", "rejects", "checkpoint", "rows", "hold", "retention", "forms", "keys", "tenants", "dynamodb/apart", "dynamodb/repair", "dynamodb/quota",
				"devices", "erasures", "logs", "task-e", "rollups", "aggregate", "task-c", "task-b", "task-i", "replay", "clocks",
				"archive", "asof", "corrections", "reconcile", "arrivals",
			} {
				p.Files = append(p.Files, filepath.Join("testdata", script+".txtar"))
			}
			testscript.Run(t, p)
		})
	}
}

// params returns the parameters for running scripts. The function "extra" returns the arguments of
// a script's servers. The variable $PREFIX is the prefix of the script's tables.
func params(extra func(*testscript.Env) []string) testscript.Params {
	return testscript.Params{
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			held := &servers{}
			env.Setenv("PREFIX", "varve")
			if extra != nil {
				held.extra = extra(env)
			}
			return setup(env, held)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server":    server,
			"clock":     clock,
			"http":      httpCall,
			"make-file": makeFile,
			"await":     await,
		},
	}
}

func setup(env *testscript.Env, held *servers) error {
	env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Setenv("HOME", env.WorkDir)
	env.Values[serversKey{}] = held
	env.Defer(held.killAll)
	return setClock(env.WorkDir, tourDay)
}
