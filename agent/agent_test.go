package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v5 "github.com/eclipse/paho.golang/paho"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/agent/settings"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/tests/varvetest"
)

// newServer returns a real server on a store in memory.
func newServer(t *testing.T) *httptest.Server {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams,
		Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store, Now: e.Now, Metrics: prometheus.NewRegistry(),
	}))
	t.Cleanup(func() {
		s.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func startAgent(t *testing.T, url string, change func(*settings.Settings)) *agent.Agent {
	t.Helper()
	s := settings.Default()
	s.Server.URL, s.Outbox.Dir, s.HTTP.Listen, s.MQTT.Listen = url, t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	s.Upload.Every, s.Upload.MaxWait = 5*time.Millisecond, 20*time.Millisecond
	if change != nil {
		change(&s)
	}
	a, err := agent.Start(t.Context(), agent.Options{Settings: &s, Log: zerolog.Nop(), Version: "test", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func post(t *testing.T, url, media, body string, header ...string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// wantReadings waits until the server has the wanted number of readings of a device.
func wantReadings(t *testing.T, url, stream, device string, want int) {
	t.Helper()
	c, err := client.New(url, client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if !varvetest.Eventually(func() bool {
		n = 0
		for _, err := range c.Readings(t.Context(), client.Query{Stream: stream, Device: device, Consistent: true}, nil) {
			if err != nil {
				return false // the stream is not stored yet
			}
			n++
		}
		return n == want
	}) {
		t.Errorf("%s %s has %d readings, want %d", stream, device, n, want)
	}
}

const ndjson = "application/x-ndjson"

// TestAgent_BoundsListOfRejects writes a body in which all 2,000 readings are invalid. The answer must count all
// of them, and list the first ones up to 64 KiB.
func TestAgent_BoundsListOfRejects(t *testing.T) {
	a := startAgent(t, newServer(t).URL, nil)
	status, text := post(t, a.URL()+"/v1/streams/doors/readings", ndjson, strings.Repeat(`{"device":"d","time":1,"temperature":20}`+"\n", 2000))
	var answer wire.WriteAnswer
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	n := len(answer.Rejects)
	if status != 422 || answer.Rejected != 2000 || !answer.Truncated || len(text) > 65<<10 || n < 300 || answer.Rejects[n-1].Index != int64(n-1) {
		t.Errorf("status %d, %d of %d rejects in %d bytes, truncated: %t; want 422, and the first rejects in 64 KiB", status, n, answer.Rejected, len(text), answer.Truncated)
	}
}

// TestAgent_ForwardsAllDoors writes with HTTP, line protocol, the Go client and MQTT.
// The server must get all valid readings.
func TestAgent_ForwardsAllDoors(t *testing.T) {
	server := newServer(t)
	a := startAgent(t, server.URL, nil)
	status, answer := post(t, a.URL()+"/v1/streams/doors/readings", ndjson, `{"device":"http","time":"2026-01-01T00:00:00Z","fields":{"a":1}}
{"device":"http","time":"never","fields":{"a":1}}`)
	if status != 207 || !strings.HasPrefix(answer, `{"stored":0,"duplicates":0,"rejected":1,"queued":1,"rejects":[{"index":1,"line":2,"code":"time_invalid"`) {
		t.Errorf("HTTP: %d %s", status, answer)
	}
	status, answer = post(t, a.URL()+"/v1/streams/doors/readings", "text/csv", "device,time,a\ncsv,2026-01-01T00:00:00Z,1\n")
	if status != 200 || !strings.HasPrefix(answer, `{"stored":0,"duplicates":0,"rejected":0,"queued":1`) {
		t.Errorf("CSV: %d %s", status, answer)
	}
	for i, path := range []string{"/write?db=x", "/api/v2/write?bucket=x", "/api/v3/write_lp?db=x"} {
		if status, answer := post(t, a.URL()+path, "text/plain", fmt.Sprintf("doors,device=lines a=1 %d\n", 1_767_225_600_000_000_000+i)); status != 204 {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	c, err := client.New(a.URL(), client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	written, err := c.WriteReadings(t.Context(), "doors", []varve.Reading{{
		Series: varve.Series{Device: "client"}, Time: time.Unix(1_767_225_600, 0), Fields: []varve.Field{{Name: "a", Value: varve.IntValue(1)}},
	}})
	if err != nil || written.Queued != 1 || written.Stored != 0 {
		t.Errorf("client: %+v, %v", written, err)
	}
	publish(t, a, "varve/doors/mqtt", `{"time":"2026-01-01T00:00:00Z","fields":{"a":1}}`)
	for _, device := range []string{"http", "csv", "client", "mqtt"} {
		wantReadings(t, server.URL, "doors", device, 1)
	}
	wantReadings(t, server.URL, "doors", "lines", 3)
}

// publish publishes a message of QoS 1 with MQTT 5, and returns its reason code.
func publish(t *testing.T, a *agent.Agent, topic, payload string) byte {
	t.Helper()
	conn, err := net.Dial("tcp", a.MQTTAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := v5.NewClient(v5.ClientConfig{Conn: conn})
	if _, err := c.Connect(t.Context(), &v5.Connect{ClientID: "device", CleanStart: true, KeepAlive: 30}); err != nil {
		t.Fatal(err)
	}
	ack, err := c.Publish(t.Context(), &v5.Publish{Topic: topic, Payload: []byte(payload), QoS: 1})
	if ack == nil {
		t.Fatal(err)
	}
	if err := c.Disconnect(&v5.Disconnect{}); err != nil {
		t.Fatal(err)
	}
	return ack.ReasonCode
}

// TestAgent_SurvivesRestartWithoutServer writes a reading twice while no server exists, and restarts the
// agent with a server. The server must then have the reading once.
func TestAgent_SurvivesRestartWithoutServer(t *testing.T) {
	dir := t.TempDir()
	at := func(s *settings.Settings) { s.Outbox.Dir = dir }
	a := startAgent(t, "http://127.0.0.1:1", at)
	for range 2 { // the device resends its reading
		if status, answer := post(t, a.URL()+"/v1/streams/s/readings", ndjson, `{"device":"d","time":"2026-01-01T00:00:00Z","fields":{"a":1}}`); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	var h agent.Health
	varvetest.Eventually(func() bool { h = health(t, a); return h.Server.LastError != "" })
	if h.Status != "ok" || h.Outbox.Readings != 2 || h.Server.LastError == "" {
		t.Errorf("%+v", h)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	server := newServer(t)
	a = startAgent(t, server.URL, at)
	wantReadings(t, server.URL, "s", "d", 1)
	if !varvetest.Eventually(func() bool { return health(t, a).Outbox.Readings == 0 }) {
		t.Errorf("%+v", health(t, a))
	}
}

func health(t *testing.T, a *agent.Agent) (h agent.Health) {
	t.Helper()
	resp, err := http.Get(a.URL() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&h); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestAgent_RefusesWhenFull fills the outbox with the policy refuse. Devices must get 503, so that they
// retry. Clients of InfluxDB must get 503, too, because they drop their lines after 429.
func TestAgent_RefusesWhenFull(t *testing.T) {
	a := startAgent(t, "http://127.0.0.1:1", func(s *settings.Settings) { s.Outbox.Full, s.Outbox.MaxBytes = "refuse", outbox.MinBytes })
	text := strings.Repeat("x", 30_000)
	for range 100 {
		status, answer := post(t, a.URL()+"/v1/streams/s/readings", ndjson, `{"device":"d","time":"2026-01-01T00:00:00Z","fields":{"a":"`+text+`"}}`)
		if status == 200 {
			continue
		}
		if status != 503 || !strings.Contains(answer, "the outbox is full") {
			t.Errorf("HTTP: %d %s", status, answer)
		}
		status, answer = post(t, a.URL()+"/write?db=x", "text/plain", `s,device=d a="`+text+`"`)
		if status != 503 || !strings.Contains(answer, "the outbox is full") {
			t.Errorf("line protocol: %d %s", status, answer)
		}
		return
	}
	t.Error("nothing was refused")
}

// TestAgent_ChecksKeysAndHosts checks the access with keys and without.
func TestAgent_ChecksKeysAndHosts(t *testing.T) {
	const key = "a-local-key-of-a-device"
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("# devices\n"+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := newServer(t)
	open, locked := startAgent(t, server.URL, nil), startAgent(t, server.URL, func(s *settings.Settings) { s.HTTP.KeysFile = file })
	const body = `{"device":"d","time":"2026-01-01T00:00:00Z","fields":{"a":1}}`
	for _, c := range []struct {
		name   string
		agent  *agent.Agent
		path   string
		header []string
		want   int
	}{
		{"no key needed", open, "/v1/streams/s/readings", nil, 200},
		{"other host", open, "/v1/streams/s/readings", []string{"Host", "evil.example"}, 403},
		{"other site", open, "/v1/streams/s/readings", []string{"Origin", "http://evil.example"}, 403},
		{"no key", locked, "/v1/streams/s/readings", nil, 401},
		{"wrong key", locked, "/v1/streams/s/readings", []string{"Authorization", "Bearer wrong-key-of-a-device"}, 401},
		{"key", locked, "/v1/streams/s/readings", []string{"Authorization", "Bearer " + key}, 200},
		{"key and other host", locked, "/v1/streams/s/readings", []string{"Authorization", "Bearer " + key, "Host", "gateway.lan"}, 200},
		{"lines without key", locked, "/write?db=x", nil, 401},
		{"lines with token", locked, "/api/v2/write?bucket=x", []string{"Authorization", "Token " + key}, 400}, // the body is not line protocol
	} {
		if status, answer := post(t, c.agent.URL()+c.path, ndjson, body, c.header...); status != c.want {
			t.Errorf("%s: %d %s", c.name, status, answer)
		}
	}
}

// TestAgent_AnswersHostileInput sends an empty body, invalid bodies and invalid messages. The agent must
// refuse all but the empty body, and continue to work.
func TestAgent_AnswersHostileInput(t *testing.T) {
	server := newServer(t)
	a := startAgent(t, server.URL, func(s *settings.Settings) { s.HTTP.MaxBody = 1 << 20 })
	for name, c := range map[string]struct {
		path, media, body string
		header            []string
		want              int
	}{
		"not JSON":       {"/v1/streams/s/readings", ndjson, "\x00\x01{{{{", nil, 422},
		"empty":          {"/v1/streams/s/readings", ndjson, "", nil, 200},
		"deep":           {"/v1/streams/s/readings", "application/json", strings.Repeat("[", 100_000), nil, 400},
		"too long":       {"/v1/streams/s/readings", ndjson, strings.Repeat(" ", 2<<20), nil, 413},
		"not gzip":       {"/v1/streams/s/readings", ndjson, "plain", []string{"Content-Encoding", "gzip"}, 400},
		"unknown coding": {"/v1/streams/s/readings", ndjson, "plain", []string{"Content-Encoding", "br"}, 415},
		"stream":         {"/v1/streams/..%2f..%2fetc/readings", ndjson, "{}", nil, 400},
		"format":         {"/v1/streams/s/readings", "image/png", "x", nil, 415},
		"parameter":      {"/v1/streams/s/readings?x=1", ndjson, "{}", nil, 400},
		"unknown path":   {"/v1/tables", ndjson, "{}", nil, 404},
		"database":       {"/write", "text/plain", "a b=1", nil, 400},
		"lines":          {"/write?db=x", "text/plain", "\x00=,,,\n", nil, 400},
	} {
		if status, answer := post(t, a.URL()+c.path, c.media, c.body, c.header...); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, answer, c.want)
		}
	}
	for topic, payload := range map[string][]byte{"varve/s/d": {0, 1, 2}, "other": []byte("{}"), "varve/s/e": bytes.Repeat([]byte("["), 100_000)} {
		if code := publish(t, a, topic, string(payload)); code == 0 {
			t.Errorf("topic %s: the message was accepted", topic)
		}
	}
	if h := health(t, a); h.Status != "ok" || h.Outbox.Readings != 0 {
		t.Errorf("%+v", h)
	}
}

// TestAgent_IsReady sends to an agent the request with which an agent checks its server before it postpones
// readings. The answer must be that it is ready, because the server may be an agent, too.
func TestAgent_IsReady(t *testing.T) {
	a := startAgent(t, "http://127.0.0.1:1", nil)
	c, err := client.New(a.URL(), client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	if ready, err := c.Ready(t.Context()); err != nil || !ready.Ready {
		t.Errorf("%+v, %v", ready, err)
	}
}
