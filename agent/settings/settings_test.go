package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/agent/settings"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLoad_MergesSources checks that flags override the environment, and the environment the file.
func TestLoad_MergesSources(t *testing.T) {
	path := file(t, `
server: {url: https://one.example}
outbox:
  max_bytes: 2GiB
  full: refuse
  order: newest
  keep: 2d
upload: {every: 200ms, max_wait: 1d}
topics:
  plant.a: {pattern: "plant/{device}/{stream}", payload: value, field: v}
`)
	l, err := settings.Load(settings.Source{
		File: path, Required: true, Environ: []string{"HOME=/", "VARVE_AGENT_CONFIG=x", "VARVE_AGENT_SERVER_URL=https://two.example", "VARVE_AGENT_HTTP_LISTEN=127.0.0.1:1"},
		Flags: map[string]string{"http.listen": "127.0.0.1:2"}, FlagNames: map[string]string{"http.listen": "--listen"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.Server.URL != "https://two.example" || l.HTTP.Listen != "127.0.0.1:2" || l.Upload.Every != 200*time.Millisecond || l.Upload.MaxWait != 24*time.Hour {
		t.Errorf("%+v", l.Settings)
	}
	if o := l.OutboxOptions(); o.MaxBytes != 2<<30 || o.Full != outbox.RefuseNewest || o.Order != outbox.NewestFirst || o.Keep != 48*time.Hour {
		t.Errorf("%+v", o)
	}
	if table, err := l.TopicTable(); err != nil || len(table) != 1 || l.Topics["plant.a"].Payload != "value" {
		t.Errorf("%v, %+v", err, l.Topics)
	}
	origins := map[string]string{}
	for _, v := range l.Values() {
		origins[v.Key] = v.Value + " from " + v.Origin
	}
	for key, want := range map[string]string{
		"http.listen": "127.0.0.1:2 from --listen", "server.url": "https://two.example from VARVE_AGENT_SERVER_URL",
		"outbox.max_bytes": "2GiB from " + path + ":4", "topics.plant.a.field": "v from " + path + ":10", "outbox.keep": "2d from " + path + ":7", "log.level": "info from default",
	} {
		if origins[key] != want {
			t.Errorf("%s: %q, want %q", key, origins[key], want)
		}
	}
}

// TestLoad_IgnoresVariablesOfKubernetes loads the variables that Kubernetes adds to each pod for a service
// named varve-agent. They must be ignored. A variable that only resembles them must be a mistake.
func TestLoad_IgnoresVariablesOfKubernetes(t *testing.T) {
	environ := []string{"VARVE_AGENT_SERVER_URL=http://127.0.0.1:1",
		"VARVE_AGENT_SERVICE_HOST=10.96.0.7", "VARVE_AGENT_SERVICE_PORT=8279", "VARVE_AGENT_SERVICE_PORT_HTTP=8279",
		"VARVE_AGENT_PORT=tcp://10.96.0.7:8279", "VARVE_AGENT_PORT_8279_TCP=tcp://10.96.0.7:8279",
		"VARVE_AGENT_PORT_8279_TCP_PROTO=tcp", "VARVE_AGENT_PORT_8279_TCP_PORT=8279", "VARVE_AGENT_PORT_8279_TCP_ADDR=10.96.0.7"}
	if _, err := settings.Load(settings.Source{Environ: environ}); err != nil {
		t.Error(err)
	}
	_, err := settings.Load(settings.Source{Environ: append(environ, "VARVE_AGENT_PORT=8300")})
	if err == nil || !strings.Contains(err.Error(), "VARVE_AGENT_PORT: port: unknown setting") {
		t.Errorf("VARVE_AGENT_PORT=8300: %v", err)
	}
}

// TestLoad_TurnsComparisonOff checks that outbox.keep may be 0, and its default.
func TestLoad_TurnsComparisonOff(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 24 * time.Hour, "0": 0, "1h": time.Hour} {
		src := settings.Source{Environ: []string{"VARVE_AGENT_SERVER_URL=http://127.0.0.1:1"}}
		if value != "" {
			src.Environ = append(src.Environ, "VARVE_AGENT_OUTBOX_KEEP="+value)
		}
		l, err := settings.Load(src)
		if err != nil {
			t.Fatal(err)
		}
		if o := l.OutboxOptions(); o.Keep != want {
			t.Errorf("%q: %s, want %s", value, o.Keep, want)
		}
	}
}

// TestLoad_NamesMistakes checks that all mistakes are reported together, each with its origin.
func TestLoad_NamesMistakes(t *testing.T) {
	path := file(t, `
server: {url: varve.example.com}
http: {listen: "0.0.0.0:8279", tls_cert: c.pem}
outbox: {max_bytes: 10KiB, full: sometimes, size: 1, keep: soon}
upload: {readings: [1]}
memory: 1MiB
topics: {a: {pattern: "{x}/{x}"}}
`)
	_, err := settings.Load(settings.Source{File: path, Required: true, Environ: []string{"VARVE_AGENT_OUTBOX=1"}})
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, want := range []string{
		":2: server.url: \"varve.example.com\" is not an address", "http.listen: 0.0.0.0:8279 can be reached from other machines: set http.keys_file",
		"http.tls_cert: requires http.tls_key", ":4: outbox.max_bytes: 10KiB is too little", ":4: outbox.full: \"sometimes\" is unknown: use drop or refuse",
		":4: outbox.size: unknown setting", ":4: outbox.keep: ", ":5: upload.readings: is not a value", ":6: memory: 1MiB is too little", "topics: ", "VARVE_AGENT_OUTBOX: outbox: unknown setting",
		"server.url: is missing",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%s", want, err)
		}
	}
	forever := settings.Source{Environ: []string{"VARVE_AGENT_OUTBOX_KEEP=forever"}}
	if _, err := settings.Load(forever); err == nil || !strings.Contains(err.Error(), "outbox.keep: forever is too long: use at most 1y") {
		t.Errorf("outbox.keep: %v", err)
	}
	many := settings.Source{Environ: []string{"VARVE_AGENT_UPLOAD_READINGS=100001"}}
	if _, err := settings.Load(many); err == nil || !strings.Contains(err.Error(), "upload.readings: 100001 is too much: it must be at most 100000") {
		t.Errorf("upload.readings: %v", err)
	}
	for name, src := range map[string]settings.Source{
		"missing file": {File: "missing.yaml", Required: true}, "not YAML": {File: file(t, "a: [")}, "list": {File: file(t, "- a")}, "alias": {File: file(t, "a: &x {b: *x}")},
	} {
		if _, err := settings.Load(src); err == nil {
			t.Errorf("%s: no mistake was found", name)
		}
	}
}
