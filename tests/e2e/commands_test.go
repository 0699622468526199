package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/varvedb/varve/tests/varvetest"
)

const clockFile = "clock"

type serversKey struct{}

type servers struct {
	current *varvetest.Server
	all     []*varvetest.Server
	extra   []string // arguments for all servers
}

func (s *servers) killAll() {
	for _, one := range s.all {
		_ = one.Kill() // the server may have ended on its own
	}
}

func serversOf(ts *testscript.TestScript) *servers {
	s, ok := ts.Value(serversKey{}).(*servers)
	if !ok {
		ts.Fatalf("the script has no servers")
	}
	return s
}

// server implements the command server, which controls varve serve:
//
//	server start [NAME=VALUE…] [ARGS…]   starts a server with environment variables, and sets
//	                       VARVE_SERVER to its address
//	server stop            sends SIGTERM; the exit code must be 0
//	server term            sends SIGTERM, without waiting
//	server wait            waits for the end after term; the exit code must be 0
//	server hup             sends SIGHUP
//	server kill            sends SIGKILL
//	server output          writes the output of the server to server.out
func server(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: server start|stop|term|wait|hup|kill|output")
	}
	held := serversOf(ts)
	if args[0] == "start" {
		var reach varvetest.Reach
		for args = args[1:]; len(args) > 0 && strings.HasPrefix(args[0], "VARVE_"); args = args[1:] {
			reach.Environ = append(reach.Environ, args[0])
		}
		s, err := varvetest.StartAt(context.Background(), binary, ts.Getenv("WORK"), reach, append(args[:len(args):len(args)], held.extra...)...)
		ts.Check(err)
		held.current = s
		held.all = append(held.all, s)
		ts.Setenv("VARVE_SERVER", s.URL)
		ts.Setenv("ADDRESS", strings.TrimPrefix(s.URL, "http://"))
		return
	}
	var err error
	switch args[0] {
	case "stop":
		err = held.current.Stop()
	case "term":
		err = held.current.Terminate()
	case "wait":
		err = held.current.Wait()
	case "hup":
		err = held.current.Hangup()
	case "kill":
		err = held.current.Kill()
	case "output":
		err = os.WriteFile(ts.MkAbs("server.out"), []byte(held.current.Output()), 0o600)
	default:
		ts.Fatalf("server has no %s", args[0])
	}
	if err != nil {
		ts.Fatalf("server %s: %v\n%s", args[0], err, held.current.Output())
	}
}

// clock implements the command clock. It sets the clock of the script's programs. The clock then
// continues from that time. A script begins at tourDay.
//
//	clock 2026-12-20T12:00:00Z
func clock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clock TIME")
	}
	at, err := time.Parse(time.RFC3339, args[0])
	ts.Check(err)
	ts.Check(setClock(ts.Getenv("WORK"), at))
}

func setClock(dir string, at time.Time) error {
	return os.WriteFile(filepath.Join(dir, clockFile), []byte(time.Until(at).String()), 0o600)
}

// httpCall implements the command http. It sends a request to the server and checks the status.
// It writes the status, the header fields and the body to http.out. With key:FILE, the first line
// of the file is used as the API key:
//
//	http 200 GET /v1/streams [FILE] [Header:value…]
func httpCall(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD PATH [FILE] [HEADER:VALUE…]")
	}
	req, err := http.NewRequestWithContext(context.Background(), args[1], ts.Getenv("VARVE_SERVER")+args[2], nil)
	ts.Check(err)
	for _, arg := range args[3:] {
		name, value, header := strings.Cut(arg, ":")
		if name == "key" {
			key, _, _ := strings.Cut(ts.ReadFile(value), "\n")
			req.Header.Set("Authorization", "Bearer "+key)
			continue
		}
		if header {
			req.Header.Set(name, strings.TrimSpace(value))
			continue
		}
		text := ts.ReadFile(arg)
		req.Body = io.NopCloser(strings.NewReader(text))
		req.ContentLength = int64(len(text))
	}
	status, text, err := do(req)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("http.out"), []byte(text), 0o600))
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("%s %s: %s", args[1], args[2], text)
	}
}

func do(req *http.Request) (status int, text string, err error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(resp.Body)
	var b strings.Builder
	fmt.Fprintln(&b, resp.Status)
	if writeErr := resp.Header.Write(&b); writeErr != nil {
		return 0, "", writeErr
	}
	fmt.Fprintf(&b, "\n%s", body)
	return resp.StatusCode, b.String(), errors.Join(err, resp.Body.Close())
}

// makeFile writes a CSV file of readings, one per minute, beginning at the given time:
//
//	make-file weather/s1.csv 100 2026-01-01T00:00:00Z
func makeFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: make-file FILE COUNT FROM")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	from, err := time.Parse(time.RFC3339, args[2])
	ts.Check(err)
	var b strings.Builder
	b.WriteString("time,temperature\n")
	for i := range n {
		fmt.Fprintf(&b, "%s,%d.5\n", from.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), i)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// await waits until a file or the output of the server contains a text:
//
//	await server 'stopping'
//	await FILE TEXT
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await server|FILE TEXT")
	}
	read := func() string {
		if args[0] == "server" {
			return serversOf(ts).current.Output()
		}
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			ts.Check(err)
		}
		return string(text)
	}
	if !varvetest.Eventually(func() bool { return strings.Contains(read(), args[1]) }) {
		ts.Fatalf("%s never had %q:\n%s", args[0], args[1], read())
	}
}
