// Package archive_test tests the archive with an implementation of S3, and recounts it with DuckDB.
//
// The bucket must follow the contract of object stores, and DuckDB must find the same readings in
// the files. The script tools.sh fetches DuckDB. A short run without it is skipped. The tests
// also read archives by ranges, and accept archives that no record describes.
package archive_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

// cache is the folder of the fetched tools.
var cache string

func TestMain(m *testing.M) {
	flag.Parse()
	fetched, err := fetchTools(testing.Short())
	switch {
	case err != nil:
		panic(err)
	case !fetched:
		fmt.Fprintln(os.Stdout, "archive tests: skipped, because their tools are missing: make test fetches them once, in a few minutes")
	default:
		if err := varvetest.InMemory(m.Run); err != nil {
			panic(err)
		}
	}
}

// fetchTools fetches the tools of the tests, unless they are in the cache. If cached is true, it fetches
// nothing, and returns false if a tool is missing.
func fetchTools(cached bool) (fetched bool, err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return false, err
	}
	cache = filepath.Join(dir, "varve", "archive")
	args := []string{}
	if cached {
		args = append(args, "--if-cached")
	}
	out, err := exec.Command("./tools.sh", args...).CombinedOutput()
	var exit *exec.ExitError
	if cached && errors.As(err, &exit) && exit.ExitCode() == 3 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("fetch the tools: %w\n%s", err, out)
	}
	return true, nil
}
