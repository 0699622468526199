// Package archive_test tests the archive with an implementation of S3, and recounts it with DuckDB.
//
// The bucket must follow the contract of object stores, and DuckDB must find the same readings in
// the files. The script tools.sh fetches the tools. A short run without them is skipped. The tests
// also read archives by ranges, and accept archives that no record describes.
package archive_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

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

const bucket = "readings"

// startS3 starts an S3 server whose bucket is a folder. It returns the server's address and the folder.
func startS3(t *testing.T) (endpoint, folder string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test-access")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	t.Setenv("AWS_REGION", "us-east-1")
	root := t.TempDir()
	folder = filepath.Join(root, bucket)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	address, err := varvetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(cache, "versitygw"), "--port", address, "--access", "test-access", "--secret", "test-secret", "posix", root)
	log, err := os.Create(filepath.Join(t.TempDir(), "versitygw.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
		log.Close()
	})
	endpoint = "http://" + address
	for begin := time.Now(); ; {
		res, err := http.Get(endpoint)
		if err == nil {
			res.Body.Close()
			return endpoint, folder
		}
		if time.Since(begin) > 30*time.Second {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("versitygw does not answer: %v\n%s", err, text)
		}
		timer := time.NewTimer(20 * time.Millisecond)
		<-timer.C
	}
}
