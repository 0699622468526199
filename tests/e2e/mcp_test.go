package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpTools are the tools of varve mcp, each with parameters for the readings of mcpServer.
var mcpTools = map[string]map[string]any{
	"streams":   {},
	"devices":   {"stream": "weather"},
	"query":     {"stream": "weather", "device": "s1", "from": "-7d", "limit": 3},
	"latest":    {"stream": "weather"},
	"aggregate": {"stream": "weather", "step": "1h", "from": "-2d", "devices": []string{"s1"}},
	"lateness":  {"stream": "weather", "device": "s1"},
	"why":       {"device": "s1", "time": "2026-11-20T00:00:00Z"},
	"explain":   {"stream": "weather", "device": "s1"},
	"alerts":    {},
	"plan":      {},
}

// exactNumber has more digits than a 64-bit float.
const exactNumber = "12345678901234567890.123456789"

// mcpServer starts a server with keys and readings of the tenant acme, and a reading of the tenant default.
// It returns its address, an operator's key and a read key of acme.
func mcpServer(t *testing.T) (server, operator, reader string) {
	t.Helper()
	s := start(t, t.TempDir())
	operator = strings.TrimSpace(runWith(t, s.URL, "", "", "keys", "create", "--scope", "admin"))
	writer := strings.TrimSpace(runWith(t, s.URL, operator, "", "keys", "create", "--tenant", "acme", "--scope", "admin,write"))
	reader = strings.TrimSpace(runWith(t, s.URL, operator, "", "keys", "create", "--tenant", "acme", "--scope", "read"))
	runWith(t, s.URL, writer, "", "rules", "add", "temperature", ">", "1000", "--stream", "weather", "--severity", "critical")
	var lines strings.Builder
	at := time.Now().UTC().Truncate(time.Hour)
	for i := range 2500 {
		fmt.Fprintf(&lines, `{"device":"s1","time":%q,"fields":{"temperature":%d,"exact":%s}}`+"\n", at.Add(time.Duration(-i)*time.Minute).Format(time.RFC3339), i%40, exactNumber)
	}
	fmt.Fprintf(&lines, `{"device":"s2","time":%q,"fields":{"temperature":2000}}`+"\n", at.Format(time.RFC3339))
	runWith(t, s.URL, writer, lines.String(), "ingest", "--quiet", "--stream", "weather", "--format", "ndjson", "-")
	runWith(t, s.URL, writer, "", "devices", "set", "s2", "--attributes", `{"site":"north"}`)
	runWith(t, s.URL, operator, `{"device":"other","time":"2026-11-20T00:00:00Z","fields":{"secret":1}}`, "ingest", "--quiet", "--stream", "vault", "--format", "ndjson", "-")
	return s.URL, operator, reader
}

func runWith(t *testing.T, server, key, in string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(in)
	cmd.Env = append(os.Environ(), "VARVE_SERVER="+server, "VARVE_KEY="+key)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("varve %v: %v\n%s", args, err, failed.String())
	}
	return string(out)
}

// host starts varve mcp with a key, as a host of MCP servers does, and returns the session.
func host(t *testing.T, server, key string) *mcp.ClientSession {
	t.Helper()
	// The context of the test would kill the program before its input ends.
	cmd := exec.CommandContext(context.Background(), binary, "mcp", "--server", server)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "VARVE_KEY="+key)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("varve mcp does not end well when its input ends: %v", err)
		}
	})
	return session
}

// callTool calls a tool and decodes its answer. It returns the text of an error of the tool.
func callTool(t *testing.T, s *mcp.ClientSession, name string, args map[string]any, answer any) (failure string) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s: %d contents", name, len(r.Content))
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		return text
	}
	if len(text) > 100_000 {
		t.Errorf("%s: the answer has %d bytes", name, len(text))
	}
	if r.StructuredContent == nil {
		t.Errorf("%s: the answer is not structured", name)
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			t.Fatalf("%s: %v in %s", name, err, text)
		}
	}
	return ""
}

// TestMCP_DescribesTools checks that each tool is described, has schemas and is read-only.
func TestMCP_DescribesTools(t *testing.T) {
	server, _, reader := mcpServer(t)
	s := host(t, server, reader)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if mcpTools[tool.Name] == nil {
			t.Errorf("tool %s is not expected", tool.Name)
		}
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.Title == "" || len(tool.Description) < 40 {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
		in, _ := tool.InputSchema.(map[string]any)
		out, _ := tool.OutputSchema.(map[string]any)
		properties, _ := in["properties"].(map[string]any)
		for name, p := range properties {
			if about, _ := p.(map[string]any)["description"].(string); about == "" {
				t.Errorf("%s: parameter %s has no description", tool.Name, name)
			}
		}
		if in["type"] != "object" || out["type"] != "object" {
			t.Errorf("%s: schemas %v and %v", tool.Name, in["type"], out["type"])
		}
	}
	if len(list.Tools) != len(mcpTools) {
		t.Errorf("%d tools, want %d", len(list.Tools), len(mcpTools))
	}
}

// TestMCP_AnswersReader checks the answers to a read key of a tenant.
func TestMCP_AnswersReader(t *testing.T) {
	server, _, reader := mcpServer(t)
	s := host(t, server, reader)
	var streams struct{ Streams []struct{ Name string } }
	callTool(t, s, "streams", nil, &streams)
	if len(streams.Streams) != 1 || streams.Streams[0].Name != "weather" {
		t.Errorf("streams of the tenant: %+v", streams)
	}
	var devices struct {
		Devices []struct{ Device, Arrived string }
	}
	callTool(t, s, "devices", map[string]any{"stream": "weather"}, &devices)
	if len(devices.Devices) != 2 || devices.Devices[1].Device != "s2" || devices.Devices[1].Arrived == "" {
		t.Errorf("devices: %+v", devices)
	}
	var latest struct {
		Latest []struct {
			Device  string
			Reading struct{ Fields map[string]json.RawMessage }
		}
	}
	callTool(t, s, "latest", map[string]any{"stream": "weather", "devices": []string{"s1"}}, &latest)
	if len(latest.Latest) != 1 || string(latest.Latest[0].Reading.Fields["exact"]) != exactNumber {
		t.Errorf("latest: %+v", latest)
	}
	var buckets struct {
		Buckets []struct {
			Fields map[string]map[string]json.RawMessage
		}
	}
	callTool(t, s, "aggregate", map[string]any{"stream": "weather", "step": "1y", "fields": []string{"temperature"}, "merge": true, "functions": []string{"max", "count"}}, &buckets)
	if n := len(buckets.Buckets); n == 0 || string(buckets.Buckets[n-1].Fields["temperature"]["max"]) != "2000" {
		t.Errorf("aggregate: %+v", buckets)
	}
	var late struct {
		Readings int
		Complete bool
		Seconds  struct{ Min, Median, Max float64 }
		Latest   struct{ Device string }
	}
	callTool(t, s, "lateness", map[string]any{"stream": "weather"}, &late)
	if late.Readings != 2501 || !late.Complete || late.Latest.Device != "s1" || late.Seconds.Median < 1249*60 || late.Seconds.Median > 1330*60 || late.Seconds.Max < 2499*60 {
		t.Errorf("lateness: %+v", late)
	}
	var alerts struct {
		Alerts []struct{ Device, Severity, State string }
	}
	callTool(t, s, "alerts", map[string]any{"state": "open"}, &alerts)
	if len(alerts.Alerts) != 1 || alerts.Alerts[0].Device != "s2" || alerts.Alerts[0].Severity != "critical" {
		t.Errorf("alerts: %+v", alerts)
	}
	var why struct{ Streams []struct{ State string } }
	callTool(t, s, "why", map[string]any{"device": "s1", "time": "2019-01-01T00:00:00Z"}, &why)
	if len(why.Streams) != 1 || why.Streams[0].State == "stored" {
		t.Errorf("why: %+v", why)
	}
}

// TestMCP_BoundsAnswers checks that pages of readings are bounded, by number and by bytes, and that
// their cursors lead to all readings.
func TestMCP_BoundsAnswers(t *testing.T) {
	server, operator, reader := mcpServer(t)
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, `{"device":"big","time":%q,"fields":{"text":%q}}`+"\n", time.Now().UTC().Truncate(time.Hour).Add(time.Duration(-i)*time.Minute).Format(time.RFC3339), strings.Repeat("é", 1000))
	}
	runWith(t, server, operator, lines.String(), "ingest", "--quiet", "--stream", "weather", "--format", "ndjson", "-")
	for _, c := range []struct {
		key, device string
		want, pages int
	}{{reader, "s1", 2500, 3}, {operator, "big", 300, 7}} {
		s := host(t, server, c.key)
		seen, pages := map[string]bool{}, 0
		for cursor := ""; ; pages++ {
			var page struct {
				Readings   []struct{ Time string }
				Next, Note string
			}
			args := map[string]any{"stream": "weather", "device": c.device, "limit": 100_000, "fields": []string{"text", "temperature"}}
			if cursor != "" {
				args["cursor"] = cursor
			}
			if failure := callTool(t, s, "query", args, &page); failure != "" {
				t.Fatal(failure)
			}
			for _, r := range page.Readings {
				seen[r.Time] = true
			}
			if cursor = page.Next; (cursor == "") != (page.Note == "") {
				t.Errorf("next %q, note %q", page.Next, page.Note)
			}
			if cursor == "" {
				break
			}
		}
		if len(seen) != c.want || pages+1 < c.pages {
			t.Errorf("%s: %d readings in %d pages, want %d in at least %d", c.device, len(seen), pages+1, c.want, c.pages)
		}
	}
}

// TestMCP_NamesRemedy checks that a failed tool call returns an error that names the parameter or
// the remedy. The session must continue after such calls.
func TestMCP_NamesRemedy(t *testing.T) {
	server, _, reader := mcpServer(t)
	s := host(t, server, reader)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"plan", nil, "with a key that may read this, in VARVE_KEY or with --key-file"},
		{"explain", mcpTools["explain"], "requires a key of tenant default"},
		{"query", map[string]any{"stream": "vault", "device": "other"}, "vault"},
		{"query", map[string]any{"stream": "weather"}, "device"},
		{"query", map[string]any{"stream": "weather", "device": "s1", "from": "soon"}, "from"},
		{"query", map[string]any{"stream": "weather", "device": "s1", "limit": -1}, "limit: -1 is negative: use 1 to 1000"},
		{"query", map[string]any{"stream": "weather", "device": "s1", "color": "red"}, "color"},
		{"aggregate", map[string]any{"stream": "weather", "step": "1h", "functions": []string{"middle"}}, "functions"},
		{"alerts", map[string]any{"state": "loud"}, "state"},
		{"devices", map[string]any{"stream": "nowhere"}, "nowhere"},
	} {
		if failure := callTool(t, s, c.tool, c.args, nil); !strings.Contains(failure, c.want) {
			t.Errorf("%s %v: %q, want %q", c.tool, c.args, failure, c.want)
		}
	}
	if failure := callTool(t, s, "streams", nil, nil); failure != "" {
		t.Error(failure)
	}
	gone := host(t, "http://127.0.0.1:1", reader)
	if failure := callTool(t, gone, "streams", nil, nil); !strings.Contains(failure, "is `varve serve` running there?") {
		t.Errorf("without a server: %q", failure)
	}
}

// TestMCP_ChangesNothing calls each tool with an operator's key, also with parameters that a model
// may invent. All requests must be GETs, and the state must be equal before and after.
func TestMCP_ChangesNothing(t *testing.T) {
	server, operator, _ := mcpServer(t)
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	methods := map[string]int{}
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		methods[r.Method]++
		mu.Unlock()
		r.Host = target.Host
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	runWith(t, server, operator, `{"device":"s1","time":"2026-11-20T00:00:00Z","fields":{"temperature":1}}`, "ingest", "--quiet", "--stream", "weather", "--format", "ndjson", "-")
	before := stateOf(t, server, operator)
	s := host(t, proxy.URL, operator)
	for name, args := range mcpTools {
		if failure := callTool(t, s, name, args, nil); failure != "" {
			t.Errorf("%s: %s", name, failure)
		}
		for _, invented := range []string{"apply", "method", "plan", "resolve", "cursor"} {
			more := map[string]any{invented: "POST"}
			for k, v := range args {
				more[k] = v
			}
			callTool(t, s, name, more, nil)
		}
	}
	for _, path := range []string{"../v1/tables/apply", "s1/../../../tables/apply?x=", "a%2Fb"} {
		callTool(t, s, "why", map[string]any{"device": path, "time": "2026-11-20T00:00:00Z"}, nil)
		callTool(t, s, "latest", map[string]any{"stream": path}, nil)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(methods) != 1 || methods[http.MethodGet] < len(mcpTools) {
		t.Errorf("requests by method: %v", methods)
	}
	for path, was := range before {
		if is := stateOf(t, server, operator)[path]; is != was {
			t.Errorf("%s was\n%s\nand is\n%s", path, was, is)
		}
	}
}

// ofNow matches the parts of an answer that depend on the time of the request.
var ofNow = regexp.MustCompile(`(?m)^(Date|Content-Length): .*$|"listed":"[^"]*"|"used":"[^"]*"|"last_used":"[^"]*"`)

// stateOf returns the main lists of a server, and the readings of one device, by path.
func stateOf(t *testing.T, server, key string) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, path := range []string{
		"/v1/tables", "/v1/streams", "/v1/devices", "/v1/alerts", "/v1/alert-rules", "/v1/rejects", "/v1/keys", "/v1/streams/vault/devices/other/readings",
	} {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		status, text, err := do(req)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d, %v: %s", path, status, err, text)
		}
		state[path] = ofNow.ReplaceAllString(text, "")
	}
	return state
}

// TestMCP_DocNamesTools checks that docs/mcp.md describes each tool.
func TestMCP_DocNamesTools(t *testing.T) {
	text, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for name := range mcpTools {
		if !strings.Contains(string(text), "| `"+name+"` |") {
			missing = append(missing, name)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		t.Errorf("docs/mcp.md lacks the tools %v", missing)
	}
}
