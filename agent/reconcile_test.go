package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/agent"
	"github.com/varvedb/varve/agent/settings"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/tests/varvetest"
)

// restorable is a server whose store can be replaced.
type restorable struct {
	url     string
	handler atomic.Pointer[http.Handler]
}

func newRestorable(t *testing.T) *restorable {
	t.Helper()
	s := &restorable{}
	s.restore(t, "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load()).ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// restore replaces the store by one that has only the readings in lines, which is NDJSON or empty.
func (s *restorable) restore(t *testing.T, lines string) {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	var h http.Handler = api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams,
		Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store, Now: e.Now, Metrics: prometheus.NewRegistry(),
	})
	s.handler.Store(&h)
	if lines == "" {
		return
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/streams/s/readings", strings.NewReader(lines))
	r.Header.Set("Content-Type", ndjson)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body.String())
	}
}

// metric returns the value of a metric of an agent, or 0 if the metric is missing.
func metric(t *testing.T, a *agent.Agent, name string) int {
	t.Helper()
	resp, err := http.Get(a.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		return 0
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(value)
}

// kinds has readings of all kinds, without their device and time. The agent and the server must agree on
// their identities.
var kinds = []string{
	`"fields":{"a":1}`, `"fields":{"a":1.50}`, `"fields":{"a":-0.0}`, `"fields":{"a":1e100}`, `"fields":{"a":123456789012345678901234567890}`,
	`"fields":{"b":true,"a":"text"}`, `"fields":{"z":"é\u00e9\n","A":0.1,"z.y":null,"c":false}`, `"id":"own","fields":{"a":2}`,
	`"id":"own","version":3,"fields":{"a":3}`, `"id":"état","fields":{"a":""}`,
}

// allKinds returns readings of two devices in four hours, as lines of NDJSON. The first two lines are
// repeated at the end.
func allKinds() (lines []string) {
	begin := time.Now().UTC().Truncate(time.Hour).Add(-10 * time.Hour)
	for h := range 4 {
		for d := range 2 {
			for i, kind := range kinds {
				at := begin.Add(time.Duration(h)*time.Hour + time.Duration(i)*time.Minute + 123456789)
				lines = append(lines, fmt.Sprintf(`{"device":"d %d/é","time":"%s",%s}`+"\n", d, at.Format(time.RFC3339Nano), kind))
			}
		}
	}
	return append(lines, lines[0], lines[1])
}

// TestReconciliation_RestoresLostReadings replaces the store of the server with an older one, after the
// server has acknowledged all readings. The agent must resend the hours of the lost readings, and no
// others.
func TestReconciliation_RestoresLostReadings(t *testing.T) {
	lines := allKinds()
	distinct := len(lines) - 2
	perHour := len(kinds)
	for name, c := range map[string]struct {
		lost           map[int]bool // indices of the lines that the server loses
		resent, stored int
	}{
		"nothing":      {nil, 0, 0},
		"one reading":  {map[int]bool{perHour*2 + 3: true}, perHour, 1},
		"two readings": {map[int]bool{perHour*2 + 3: true, perHour*5 + 8: true}, 2 * perHour, 2},
		"everything":   {nil, distinct, distinct},
	} {
		t.Run(name, func(t *testing.T) {
			server, dir := newRestorable(t), t.TempDir()
			a := startAgent(t, server.url, func(s *settings.Settings) { s.Outbox.Dir = dir })
			if status, answer := post(t, a.URL()+"/v1/streams/s/readings", ndjson, strings.Join(lines, "")); status != 200 {
				t.Fatalf("%d %s", status, answer)
			}
			if !varvetest.Eventually(func() bool { return health(t, a).Outbox.Readings == 0 }) {
				t.Fatalf("%+v", health(t, a))
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			backup := ""
			for i, line := range lines {
				if !c.lost[i] && name != "everything" {
					backup += line
				}
			}
			server.restore(t, backup)
			a = startAgent(t, server.url, func(s *settings.Settings) { s.Outbox.Dir, s.Outbox.Keep = dir, 8*time.Millisecond })
			if !varvetest.Eventually(func() bool { return metric(t, a, `varve_agent_reconciliations_total{result="completed"}`) == 1 }) {
				t.Fatal("no comparison was completed")
			}
			stored, duplicates := metric(t, a, `varve_agent_resent_readings_total{outcome="stored"}`), metric(t, a, `varve_agent_resent_readings_total{outcome="duplicate"}`)
			repeated := 0
			if name == "everything" {
				repeated = 2
			}
			if stored != c.stored || duplicates != c.resent-c.stored+repeated || metric(t, a, "varve_agent_compared_readings_total") != len(lines) {
				t.Errorf("%d stored, %d duplicates, %d compared; want %d resent, of which %d are stored", stored, duplicates, metric(t, a, "varve_agent_compared_readings_total"), c.resent, c.stored)
			}
			for d := range 2 {
				wantReadings(t, server.url, "s", fmt.Sprintf("d %d/é", d), distinct/2)
			}
			if n := metric(t, a, "varve_agent_outbox_uncompared_readings"); n != 0 {
				t.Errorf("%d readings were not compared", n)
			}
		})
	}
}

// TestReconciliation_EndsAtAgent runs an agent that sends its readings to a second agent, which cannot
// compare readings. The kept segments of the first agent must be removed by age. The server of the second
// agent must have all readings.
func TestReconciliation_EndsAtAgent(t *testing.T) {
	server := newServer(t)
	peer := startAgent(t, server.URL, nil)
	a := startAgent(t, peer.URL(), func(s *settings.Settings) { s.Outbox.Keep = 40 * time.Millisecond })
	if status, answer := post(t, a.URL()+"/v1/streams/s/readings", ndjson, strings.Join(allKinds(), "")); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	if !varvetest.Eventually(func() bool { return health(t, a).Outbox.Bytes == 0 }) {
		t.Fatalf("%+v", health(t, a))
	}
	if metric(t, a, `varve_agent_reconciliations_total{result="refused"}`) == 0 || metric(t, a, "varve_agent_outbox_uncompared_readings") != len(allKinds()) {
		t.Errorf("%d readings were not compared", metric(t, a, "varve_agent_outbox_uncompared_readings"))
	}
	wantReadings(t, server.URL, "s", "d 0/é", 4*len(kinds))
}

// TestReconciliation_IsOff sends with outbox.keep 0. The agent must keep nothing after a verdict.
func TestReconciliation_IsOff(t *testing.T) {
	server := newServer(t)
	dir := t.TempDir()
	off := func(s *settings.Settings) { s.Outbox.Dir, s.Outbox.Keep = dir, 0 }
	a := startAgent(t, server.URL, off)
	if status, answer := post(t, a.URL()+"/v1/streams/s/readings", ndjson, strings.Join(allKinds(), "")); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	if !varvetest.Eventually(func() bool { return health(t, a).Outbox.Readings == 0 }) {
		t.Fatalf("%+v", health(t, a))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if h := health(t, startAgent(t, server.URL, off)); h.Outbox.Bytes != 0 || h.Outbox.Kept != 0 {
		t.Errorf("%+v", h)
	}
}
