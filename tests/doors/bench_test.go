package doors

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"github.com/varvedb/varve/tests/varvetest"
)

// measuring skips a measurement, unless VARVE_MEASURE is set. A measurement needs an idle machine.
func measuring(t *testing.T) {
	t.Helper()
	if os.Getenv("VARVE_MEASURE") == "" {
		t.Skip("set VARVE_MEASURE=1")
	}
}

// TestMeasure_MQTT prints how many MQTT messages per second Varve stores.
func TestMeasure_MQTT(t *testing.T) {
	measuring(t)
	for _, protocol := range []string{"5", "3.1.1"} {
		b := startMosquitto(t, goodMosquitto)
		s := startSubscribed(t, b, "--set", "mqtt.protocol="+protocol)
		const n = 60_000
		begin := time.Now()
		flood(t, b.address, "live", n)
		published := time.Since(begin)
		within := func() bool { return s.status(t).Client.Messages >= n && s.pending(t) == 0 }
		if !varvetest.Eventually(within) {
			t.Fatalf("%d messages arrived, want %d", s.status(t).Client.Messages, n)
		}
		t.Logf("MQTT %s: %d messages published in %s, stored after %s: %.0f messages/s", protocol, n, published, time.Since(begin), n/time.Since(begin).Seconds())
	}
}

// TestMeasure_MQTTBacklog prints the time of live writes over HTTP: first alone, and then while Varve stores
// a backlog from the broker.
func TestMeasure_MQTTBacklog(t *testing.T) {
	measuring(t)
	b := startMosquitto(t, goodMosquitto)
	dir := t.TempDir()
	start := func() *server {
		v, err := varvetest.Start(context.WithoutCancel(t.Context()), binary, dir, "--set", "mqtt.url="+b.url())
		if err != nil {
			t.Fatal(err)
		}
		return &server{Server: v}
	}
	s := start()
	if !varvetest.Eventually(func() bool { return s.status(t).Client.Connected }) {
		t.Fatal("not connected")
	}
	live := s.latencies(t, liveFor)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	const rate, outage = 100, 3600 // messages per second, and length of the outage in seconds
	flood(t, b.address, "backlog", rate*outage)
	s = start()
	begin := time.Now()
	var loaded []time.Duration
	var wg sync.WaitGroup
	wg.Go(func() { loaded = s.latencies(t, liveFor) })
	done := func() bool { return s.status(t).Client.Messages >= rate*outage && s.pending(t) == 0 }
	if !varvetest.Eventually(done) {
		t.Fatalf("%d messages arrived", s.status(t).Client.Messages)
	}
	took := time.Since(begin)
	wg.Wait()
	t.Logf("an hour's backlog of %d messages/s: stored in %s, %.0f times the live rate; live writes p50 %s, p99 %s, and without it p50 %s, p99 %s",
		rate, took, outage/took.Seconds(), quantile(loaded, 50), quantile(loaded, 99), quantile(live, 50), quantile(live, 99))
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

// liveFor is how long a test measures live writes.
const liveFor = 5 * time.Second

// flood publishes n messages of QoS 1 over three connections.
func flood(t *testing.T, address, stream string, n int) {
	t.Helper()
	at := time.Now().Add(-24 * time.Hour).UnixMilli()
	var wg sync.WaitGroup
	for d := range 3 {
		c := sender(t, address, fmt.Sprint("flood-", d))
		wg.Go(func() {
			var tokens []paho.Token
			for i := range n / 3 {
				tokens = append(tokens, c.Publish(fmt.Sprintf("varve/%s/d%d", stream, d), 1, false, fmt.Sprintf(`{"time":%d,"fields":{"temperature":%d.5}}`, at+int64(i), i%40)))
				if len(tokens) == 500 { // at most 500 messages wait for an acknowledgement
					tokens[0].Wait()
					tokens = tokens[1:]
				}
			}
			for _, token := range tokens {
				token.Wait()
			}
		})
	}
	wg.Wait()
}

// pending returns the number of messages that are not acknowledged.
func (s *server) pending(t *testing.T) (n int) {
	t.Helper()
	_, text := s.call(t, http.MethodGet, "/metrics", "")
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "varve_mqtt_pending_messages %d", &n); err == nil {
			return n
		}
	}
	t.Fatal("the metric is missing")
	return 0
}

// latencies writes single readings over HTTP for a time, and returns the duration of each.
func (s *server) latencies(t *testing.T, d time.Duration) (all []time.Duration) {
	t.Helper()
	end := time.Now().Add(d)
	for i := 0; time.Now().Before(end); i++ {
		begin := time.Now()
		body := fmt.Sprintf(`{"device":"http","time":%d,"fields":{"a":%d}}`, begin.UnixMilli(), i)
		if status, text := s.call(t, http.MethodPost, "/v1/streams/http/readings", body); status != http.StatusOK {
			t.Errorf("%d %s", status, text)
			return all
		}
		all = append(all, time.Since(begin))
		wait(5 * time.Millisecond)
	}
	return all
}

func quantile(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)*percent/100].Round(10 * time.Microsecond)
}
