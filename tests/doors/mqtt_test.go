package doors

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/tests/varvetest"
)

// status returns the server's report on its MQTT client and listener.
func (s *server) status(t *testing.T) (body wire.MQTTBody) {
	t.Helper()
	code, text := s.call(t, http.MethodGet, "/v1/mqtt", "")
	if err := json.Unmarshal(text, &body); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s: %v", code, text, err)
	}
	return body
}

// startSubscribed starts a server with a client of a broker, and waits until it is connected.
func startSubscribed(t *testing.T, b *broker, args ...string) *server {
	t.Helper()
	s := startServer(t, append([]string{"--set", "mqtt.url=" + b.url()}, args...)...)
	connected := func() bool { c := s.status(t).Client; return c != nil && c.Connected }
	if !varvetest.Eventually(connected) {
		t.Fatalf("not connected: %+v", s.status(t).Client)
	}
	return s
}

// sender returns a connected client that publishes with MQTT 3.1.1.
func sender(t *testing.T, address, id string) paho.Client {
	t.Helper()
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + address).SetClientID(id).SetProtocolVersion(4).SetAutoReconnect(false))
	if token := c.Connect(); token.Wait() && token.Error() != nil {
		t.Fatal(token.Error())
	}
	t.Cleanup(func() { c.Disconnect(100) })
	return c
}

// burst publishes n readings of device d1 with QoS 1, as fast as the broker acknowledges them.
func burst(t *testing.T, address, stream string, n int) {
	t.Helper()
	c := sender(t, address, "burst")
	at := time.Now().Add(-time.Hour).UnixMilli()
	var tokens []paho.Token
	for i := range n {
		tokens = append(tokens, c.Publish("varve/"+stream+"/d1", 1, false, fmt.Sprintf(`{"time":%d,"fields":{"a":%d}}`, at+int64(i), i)))
	}
	for _, token := range tokens {
		if token.Wait() && token.Error() != nil {
			t.Fatal(token.Error())
		}
	}
}

// TestMosquitto_DeliversBurst checks that all messages of a burst are stored with the settings of
// docs/mqtt.md, over both versions of MQTT and a shared subscription.
func TestMosquitto_DeliversBurst(t *testing.T) {
	for name, args := range map[string][]string{
		"5": {"mqtt.protocol=5"}, "3.1.1": {"mqtt.protocol=3.1.1"}, "shared": {"mqtt.share=group"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startMosquitto(t, goodMosquitto)
			s := startSubscribed(t, b, "--set", args[0])
			const n = 5000
			burst(t, b.address, "burst", n)
			if !varvetest.Eventually(func() bool { return s.stored(t, "burst") >= n }) {
				t.Errorf("%d readings are stored, want %d", s.stored(t, "burst"), n)
			}
		})
	}
}

// TestMosquitto_ReportsDrops checks that the status counts each message that Mosquitto drops, and that
// the condition broker_dropping is set. Mosquitto queues one message for the subscriber, so that it drops
// some even if the publisher is slow.
func TestMosquitto_ReportsDrops(t *testing.T) {
	t.Parallel()
	b := startMosquitto(t, "max_inflight_messages 1\nmax_queued_messages 1\n")
	s := startSubscribed(t, b)
	if !varvetest.Eventually(func() bool { return s.status(t).Client.Dropped != nil }) {
		t.Fatal("Mosquitto does not report dropped messages")
	}
	const n = 20_000
	burst(t, b.address, "burst", n)
	complete := func() bool { return int64(s.stored(t, "burst"))+s.status(t).Client.Dropped.Seen >= n }
	if !varvetest.Eventually(complete) || s.stored(t, "burst")+int(s.status(t).Client.Dropped.Seen) != n {
		t.Errorf("%d readings are stored and %d reported as dropped, want %d together", s.stored(t, "burst"), s.status(t).Client.Dropped.Seen, n)
	}
	dropped := s.status(t).Client.Dropped.Seen
	if t.Logf("Mosquitto dropped %d of %d messages", dropped, n); dropped == 0 {
		t.Fatal("no message was dropped, so the test shows nothing")
	}
	_, ready := s.call(t, http.MethodGet, "/readyz", "")
	if !strings.Contains(string(ready), `"broker_dropping"`) {
		t.Errorf("/readyz lacks the condition: %s", ready)
	}
	cmd := exec.Command(binary, "mqtt", "status")
	cmd.Env = append(os.Environ(), "VARVE_SERVER="+s.URL, "VARVE_KEY="+s.key)
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "set max_inflight_messages 1000 and max_queued_messages 0") {
		t.Errorf("varve mqtt status: %v\n%s", err, text)
	}
}

// TestAedes_IsReadWithOldVersion checks that the client uses MQTT 3.1.1 if the broker does not
// support MQTT 5.
func TestAedes_IsReadWithOldVersion(t *testing.T) {
	t.Parallel()
	b := startAedes(t)
	s := startSubscribed(t, b)
	burst(t, b.address, "burst", 500)
	if !varvetest.Eventually(func() bool { return s.stored(t, "burst") == 500 }) {
		t.Errorf("%d readings are stored, want 500", s.stored(t, "burst"))
	}
	if c := s.status(t).Client; c.Protocol != "3.1.1" || c.Dropped != nil {
		t.Errorf("the status is %+v", c)
	}
}

// TestMosquittoPub_ReachesListener publishes with mosquitto_pub. It must print the reason for each
// rejection.
func TestMosquittoPub_ReachesListener(t *testing.T) {
	t.Parallel()
	program := debian(t, "bin/mosquitto_pub")
	s := startServer(t, "--set", "mqtt.listen=127.0.0.1:0")
	_, port, _ := strings.Cut(s.status(t).Listener.Listen, ":")
	const reading = `{"temperature":22.4}`
	for _, c := range []struct {
		args, message, want string
		fails               bool
	}{
		{"-V 5 -u " + s.key, reading, "", false},
		{"-V 311 -u any -P " + s.key, reading, "", false},
		{"-V 5 -q 2 -u " + s.key, reading, "", false},
		{"-V 5 -d -t other -u " + s.key, reading, "RC:16", false},
		{"-V 5 -u " + s.key, "text", "Payload format invalid", false},
		{"-V 5 -u " + s.key, `{"time":1,"fields":{"a":1}}`, "time_too_old", false},
		{"-V 5 -u vk_wrong", reading, "Bad User Name or Password|Bad user name or password", true},
		{"-V 311", reading, "Connection Refused: bad user name or password|Connection Refused", true},
	} {
		args := append([]string{"-p", port, "-q", "1", "-t", "varve/pub/d1", "-m", c.message}, strings.Fields(c.args)...)
		text, err := withDebian(t, program, args...).CombinedOutput()
		found := c.want == ""
		for want := range strings.SplitSeq(c.want, "|") {
			found = found || strings.Contains(string(text), want)
		}
		if !found || (err != nil) != c.fails {
			t.Errorf("%.20s…: %v %s, want %s", c.args, err, text, c.want)
		}
	}
	if n := s.stored(t, "pub"); n != 3 {
		t.Errorf("%d readings are stored, want 3", n)
	}
}

// TestMQTTJS_ReachesListener publishes with MQTT.js over both versions of MQTT.
func TestMQTTJS_ReachesListener(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"4": `{"ok":100}`,
		"5": `{"153":1,"ok":99,"answer":"{\"stored\":0,\"duplicates\":1,\"rejected\":0,\"rejects\":[]} 7"}`,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, "--set", "mqtt.listen=127.0.0.1:0")
			text, err := node(t, "node", "publish.mjs", "mqtt://"+s.status(t).Listener.Listen, s.key, version, "100").CombinedOutput()
			if got := strings.TrimSpace(string(text)); err != nil || got != want {
				t.Errorf("%v %s, want %s", err, got, want)
			}
			if n := s.stored(t, "js"); n != 99 {
				t.Errorf("%d readings are stored, want 99", n)
			}
		})
	}
}

// TestDocs_ShowTestedBrokers checks that docs/mqtt.md has the settings of Mosquitto and NATS with which
// these tests run, and the configuration of Varve in docs/examples. It also runs Varve with this
// configuration.
func TestDocs_ShowTestedBrokers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/mqtt.md")
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs("../../docs/examples/mqtt.yaml")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"```text\n" + goodMosquitto + "```", "```text\n" + goodNATS + "\n```", "```yaml\n" + string(example) + "```"} {
		if !strings.Contains(string(page), text) {
			t.Errorf("docs/mqtt.md lacks:\n%s", text)
		}
	}
	b := startMosquitto(t, goodMosquitto)
	s := startSubscribed(t, b, "--config", path, "--set", "mqtt.user=", "--set", "mqtt.password_file=")
	c := sender(t, b.address, "factory")
	if token := c.Publish("factory/hall_3/d1/press", 1, false, `{"force":7}`); token.Wait() && token.Error() != nil {
		t.Fatal(token.Error())
	}
	if !varvetest.Eventually(func() bool { return s.stored(t, "press") == 1 }) {
		t.Error("the reading is not stored")
	}
}
