package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

// world is a running Varve whose clock the test sets.
type world struct {
	*varvetest.Server
	dir string
	key string // API key that the test sends with its requests; "" before the first key
}

var starts sync.Mutex

// newWorld starts a Varve without data.
func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	w.start(t, args...)
	return w
}

func (w *world) start(t *testing.T, args ...string) {
	t.Helper()
	starts.Lock() // servers start one after the other
	defer starts.Unlock()
	v, err := varvetest.Start(context.WithoutCancel(t.Context()), binary, w.dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	w.Server = v
	if w == shared {
		return // runTests stops the shared server
	}
	t.Cleanup(func() {
		if err := v.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// setClock sets the offset of the program's clock. Browsers have the true time.
func (w *world) setClock(t *testing.T, ahead time.Duration) {
	t.Helper()
	tmp := filepath.Join(w.dir, "clock.new")
	if err := os.WriteFile(tmp, []byte(ahead.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(w.dir, "clock")); err != nil {
		t.Fatal(err)
	}
}

func (w *world) send(t *testing.T, method, path, body string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.key != "" {
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, text
}

// get decodes the answer of a request into v.
func (w *world) get(t *testing.T, path string, v any) {
	t.Helper()
	status, text := w.send(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, text)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

func (w *world) must(t *testing.T, method, path, body string) []byte {
	t.Helper()
	status, text := w.send(t, method, path, body)
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return text
}

// createKey creates an API key. The first key must be an admin key, and later requests of w use it.
func (w *world) createKey(t *testing.T, draft string) string {
	t.Helper()
	var made struct{ Key string }
	if err := json.Unmarshal(w.must(t, http.MethodPost, "/v1/keys", draft), &made); err != nil || made.Key == "" {
		t.Fatal(err)
	}
	if w.key == "" {
		w.key = made.Key
	}
	return made.Key
}

// reading returns one reading as a line of NDJSON.
func reading(device string, at time.Time, fields string) string {
	return fmt.Sprintf(`{"device":%q,"time":%q,"fields":{%s}}`, device, at.UTC().Format(time.RFC3339Nano), fields)
}

// write sends readings of a stream. Some of them may be rejected.
func (w *world) write(t *testing.T, stream string, lines ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/v1/streams/"+stream+"/readings", bytes.NewBufferString(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	if w.key != "" {
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("%d %s: %v", resp.StatusCode, text, err)
	}
}

const day = 24 * time.Hour

// demoSettings has a retention of 60 days, so that a history of months has tables to drop.
var demoSettings = []string{"--drop", "true", "--set", "classes.default.retention=60d", "--set", "retention.grace=7d"}

// newDemo starts a Varve with the data of six months: live readings, devices that were offline for
// weeks, duplicates, rejects, rules and alerts.
func newDemo(t *testing.T) *world {
	t.Helper()
	return newDemoWith(t)
}

// shared is a demo for all tests that change nothing.
var shared = new(world)

func sharedDemo(t *testing.T) *world {
	t.Helper()
	if shared.Server == nil {
		shared.dir = filepath.Dir(binary)
		shared.fill(t)
	}
	return shared
}

func newDemoWith(t *testing.T, settings ...string) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	w.fill(t, settings...)
	return w
}

// fill starts the server and sends the data of a demo.
func (w *world) fill(t *testing.T, settings ...string) {
	t.Helper()
	w.setClock(t, -170*day)
	w.start(t, append(settings, demoSettings...)...)
	w.must(t, http.MethodPost, "/v1/alert-rules", `{"id":"hot","stream":"weather","field":"temperature","comparison":">","threshold":29,"severity":"critical"}`)
	for _, d := range []string{`north","name":"North roof`, `south","name":"South roof`, `cellar","name":"Cellar`, `greenhouse","name":"Greenhouse`} {
		id, name, _ := strings.Cut(d, `","name":"`)
		w.must(t, http.MethodPut, "/v1/devices/"+id, fmt.Sprintf(`{"name":%q,"type":"thermometer","location":"Hall 1"}`, name))
	}
	for ago := 170; ago >= 0; ago -= 10 {
		back := time.Duration(ago)*day + 61*time.Minute
		w.setClock(t, -back)
		now := time.Now().Add(-back)
		w.must(t, http.MethodPost, "/v1/tables/apply", "")
		w.write(t, "weather", live(now, "north", 10*24)...)
		w.write(t, "weather", live(now, "south", 10*12)...)
		if ago%40 == 10 { // the cellar had no network, and sends the readings of 40 days at once
			w.write(t, "weather", live(now, "cellar", 40*24)...)
		}
		w.write(t, "machines", live(now, "press", 10*6)...)
	}
	for minutes := 60; minutes >= 0; minutes-- {
		w.setClock(t, -time.Duration(minutes)*time.Minute)
		now := time.Now().Add(-time.Duration(minutes) * time.Minute)
		lines := []string{reading("north", now, `"temperature":22.5`), reading("south", now.Add(-20*time.Second), `"temperature":24`)}
		if minutes%15 == 5 { // a gateway sends the readings that it has buffered
			for i := range 8 {
				lines = append(lines, reading("greenhouse", now.Add(-time.Duration(i)*2*time.Hour-time.Minute), `"temperature":31.5`))
			}
		}
		w.write(t, "weather", lines...)
	}
	now := time.Now()
	w.write(t, "weather", live(now, "north", 3)...) // the earlier ones of these readings are duplicates
	w.write(t, "weather", reading("north", now, `"temperature":21`), reading("north", now.Add(400*day), `"temperature":1`), `{"device":"north"}`)
}

// live returns n readings, one per hour. The last one is at the start of the hour that contains "now".
func live(now time.Time, device string, n int) []string {
	lines := make([]string, 0, n)
	last := now.Truncate(time.Hour)
	for i := n - 1; i >= 0; i-- {
		at := last.Add(-time.Duration(i) * time.Hour)
		wave := float64((at.Unix()/3600)%24) / 2
		lines = append(lines, reading(device, at, fmt.Sprintf(`"temperature":%.1f,"humidity":%d`, 18+wave, 40+at.Unix()/3600%30)))
	}
	return lines
}
