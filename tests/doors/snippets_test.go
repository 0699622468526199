package doors

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

// snippets returns the texts that the console's page "Now" offers before the first reading, by
// client. Node evaluates the function "snippets" in the console's source.
func snippets(t *testing.T, origin string) map[string]string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "console", "source", "pages", "start.js"))
	if err != nil {
		t.Fatal(err)
	}
	_, function, found := strings.Cut(string(source), "const snippets = ")
	function, _, ended := strings.Cut(function, "\n};\n")
	if !found || !ended {
		t.Fatal("start.js has no function snippets")
	}
	script := "const html = () => ''; const snippets = " + function + "\n};\n" +
		"console.log(JSON.stringify(Object.fromEntries(snippets(process.argv[1], true).map((s) => [s.id, s.text]))))"
	text, err := exec.CommandContext(t.Context(), "node", "-e", script, origin).Output()
	var all map[string]string
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestConsoleSnippets_StoreReadings runs the snippets of the console. Each must store a reading. The test
// replaces only the port of MQTT, and sets the variable with the key.
func TestConsoleSnippets_StoreReadings(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--set", "mqtt.listen=127.0.0.1:0", "--set", "topics.sensors.pattern=sensors/{device}/{stream}")
	all := snippets(t, s.URL)
	mosquitto := debian(t, "bin/mosquitto_pub")
	_, port, _ := strings.Cut(s.status(t).Listener.Listen, ":")
	config := filepath.Join(t.TempDir(), "telegraf.conf")
	if err := os.WriteFile(config, []byte(all["telegraf"]), 0o600); err != nil {
		t.Fatal(err)
	}
	for client, cmd := range map[string]*exec.Cmd{
		"curl":      exec.CommandContext(t.Context(), "sh", "-c", all["curl"]),
		"mosquitto": withDebian(t, "/bin/sh", "-c", `PATH="`+filepath.Dir(mosquitto)+`:$PATH"; `+strings.Replace(all["mosquitto"], "-p 1883", "-p "+port, 1)),
		"telegraf":  exec.CommandContext(t.Context(), cached(t, "telegraf"), "--once", "--config", config),
	} {
		before := s.storedReadings(t)
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = append(cmd.Env, "VARVE_KEY="+s.key)
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s\n%s", client, err, all[client], text)
		}
		if !varvetest.Eventually(func() bool { return s.storedReadings(t) > before }) {
			t.Errorf("%s stored no reading:\n%s\n%s", client, all[client], text)
		}
	}
}

// storedReadings returns the number of readings that the server has stored since its start.
func (s *server) storedReadings(t *testing.T) (n int) {
	t.Helper()
	var all struct{ Streams []struct{ Stored int } }
	status, text := s.call(t, http.MethodGet, "/v1/arrivals", "")
	if err := json.Unmarshal(text, &all); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	for _, of := range all.Streams {
		n += of.Stored
	}
	return n
}
