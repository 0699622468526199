// Package s3test runs a real implementation of S3, versitygw, for tests.
//
// [Start] runs a server with one empty bucket until the test ends. The bucket is a folder, so tests can
// read and change the objects as files. The script versitygw.sh builds the server once, and stores it in
// the user's cache folder. If it cannot be built or started, the test fails.
package s3test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

// Bucket is the name of the only bucket.
const Bucket = "readings"

const access, secret = "test-access", "test-secret" // the server is for this test alone

// Start starts a server until the test ends, and sets its credentials in the environment. It returns the
// address of the server and the folder of the bucket. A short test is skipped if the server has not been
// built.
func Start(t testing.TB) (endpoint, folder string) {
	t.Helper()
	binary, err := build(testing.Short())
	switch {
	case err != nil:
		t.Fatal(err)
	case binary == "":
		t.Skip("versitygw has not been built: make test builds it once, in a few minutes")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_REGION", "us-east-1")
	root := t.TempDir()
	folder = filepath.Join(root, Bucket)
	if err := os.Mkdir(folder, 0o755); err != nil { //nolint:gosec // the server needs no more
		t.Fatal(err)
	}
	address, err := varvetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "--port", address, "--access", access, "--secret", secret, "posix", root) //nolint:noctx // the process ends with the test
	log, err := os.Create(filepath.Join(t.TempDir(), "versitygw.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := varvetest.StartChild(cmd); err != nil {
		t.Fatal(errors.Join(err, log.Close()))
	}
	t.Cleanup(func() {
		err := cmd.Process.Kill()
		_ = cmd.Wait() // reports that the process was killed
		if err = errors.Join(err, log.Close()); err != nil {
			t.Error(err)
		}
	})
	endpoint = "http://" + address
	if !varvetest.Eventually(func() bool { return answers(t.Context(), endpoint) }) {
		text, err := os.ReadFile(log.Name())
		t.Fatalf("versitygw does not answer: %v\n%s", err, text)
	}
	return endpoint, folder
}

func answers(ctx context.Context, endpoint string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, http.NoBody)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	return err == nil && res.Body.Close() == nil
}

//go:embed versitygw.sh
var script string

var building sync.Mutex

// build returns the path of the server. It builds the server if necessary. If cached is true, it builds
// nothing, and returns "" if the server is missing.
func build(cached bool) (path string, err error) {
	building.Lock()
	defer building.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-s", "--") //nolint:noctx // the build ends on its own
	if cached {
		cmd.Args = append(cmd.Args, "--if-cached")
	}
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case cached && errors.As(err, &exit) && exit.ExitCode() == 3:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("build versitygw: %w\n%s", err, out)
	}
	return filepath.Join(cache, "varve", "versitygw", "versitygw"), nil
}
