package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/tests/varvetest"
)

// hook is a receiver of alerts that fails at random: it hangs, cuts the connection, or answers 500 or 429.
// Sometimes it accepts a message and then cuts the connection, so that the service gets no answer.
type hook struct {
	mu       sync.Mutex
	rng      *rand.Rand
	good     bool              // whether hook has stopped failing
	accepted map[string]string // idempotency keys of the accepted messages, by type and alert
	owners   map[string]string // accepted messages by idempotency key
	copies   int               // number of accepted copies
	faults   map[string]int    // number of failed requests, by the kind of failure
	wrong    []string          // messages that are invalid or have a wrong key
}

func newHook() *hook {
	return &hook{rng: rand.New(rand.NewPCG(1, 5)), accepted: map[string]string{}, owners: map[string]string{}, faults: map[string]int{}}
}

func (h *hook) behave() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []string{"500", "429", "hang", "cut", "lost"}
	if n := h.rng.IntN(20); !h.good && n < len(all) {
		h.faults[all[n]]++
		return all[n]
	}
	return ""
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	switch h.behave() {
	case "500":
		w.WriteHeader(http.StatusInternalServerError)
	case "429":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case "hang":
		<-r.Context().Done()
	case "cut":
		panic(http.ErrAbortHandler)
	case "lost":
		h.accept(r.Header.Get("Idempotency-Key"), body)
		panic(http.ErrAbortHandler)
	default:
		h.accept(r.Header.Get("Idempotency-Key"), body)
		w.WriteHeader(http.StatusNoContent)
	}
}

// accept records a message. All copies of a message must have the same key, and other messages must
// have other keys.
func (h *hook) accept(key string, body []byte) {
	var m struct {
		Type string `json:"type"`
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err := json.Unmarshal(body, &m)
	what := m.Type + " " + m.Data.ID
	h.mu.Lock()
	defer h.mu.Unlock()
	before, copied := h.accepted[what]
	owner, used := h.owners[key]
	switch {
	case err != nil || key == "":
		h.wrong = append(h.wrong, fmt.Sprintf("key %q, body %s: %v", key, body, err))
	case copied && before != key:
		h.wrong = append(h.wrong, fmt.Sprintf("%s has the keys %s and %s", what, before, key))
	case used && owner != what:
		h.wrong = append(h.wrong, fmt.Sprintf("%s has the key %s of %s", what, key, owner))
	case copied:
		h.copies++
	default:
		h.accepted[what], h.owners[key] = key, what
	}
}

func TestHook_ReportsWrongKeys(t *testing.T) {
	for _, c := range []struct {
		keys, ids []string
		wrong     int
	}{
		{[]string{"1", "1"}, []string{"a", "a"}, 0}, {[]string{"1", "2"}, []string{"a", "b"}, 0}, {[]string{""}, []string{"a"}, 1},
		{[]string{"1", "2"}, []string{"a", "a"}, 1}, {[]string{"1", "1"}, []string{"a", "b"}, 1},
	} {
		h := newHook()
		for i, key := range c.keys {
			h.accept(key, fmt.Appendf(nil, `{"type": "alert.opened", "data": {"id": %q}}`, c.ids[i]))
		}
		if len(h.wrong) != c.wrong {
			t.Errorf("keys %q of the alerts %q: got %q, want %d", c.keys, c.ids, h.wrong, c.wrong)
		}
	}
}

func (h *hook) has(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.accepted[what] != ""
}

// probe is a device whose values cross the threshold of a rule with each reading.
type probe struct {
	name string
	at   time.Time
	n    int64          // number of readings so far
	sent *varve.Reading // reading that the server has not acknowledged; nil if it has acknowledged all
	acks atomic.Int64   // number of acknowledged readings
}

// send sends one reading: the previous one if it was not acknowledged, otherwise a new one. It returns
// false if the server does not answer.
func (p *probe) send(ctx context.Context, c *client.Client) bool {
	if p.sent == nil {
		p.n++
		p.at = p.at.Add(time.Second)
		p.sent = &varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: p.name}, Time: p.at,
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(p.n % 2)}},
		}
	}
	answer, err := c.WriteReadings(ctx, "weather", []varve.Reading{*p.sent})
	if err != nil {
		return answered(err)
	}
	if answer.Rejected == 0 {
		p.sent = nil
		p.acks.Add(1)
	}
	return true
}

// TestKill_DeliversEveryAlert kills the service while alerts open and are resolved. In the end, the
// receiver must have accepted a message about each opening and each resolution. Copies must have
// the same idempotency key.
func TestKill_DeliversEveryAlert(t *testing.T) {
	kills := killsOr(20, 5)
	h := newHook()
	receiver := httptest.NewServer(h)
	defer receiver.Close()
	dir := t.TempDir()
	w := &world{clockFile: filepath.Join(dir, "clock")}
	binary, err := varvetest.Build(t.Context(), dir, w.clockFile)
	if err != nil {
		t.Fatal(err)
	}
	settings := "store: {min_free: 0}\nlog: {level: error}\nnotifiers: {ops: {kind: webhook, url: " + receiver.URL + "}}\n"
	if err := os.WriteFile(filepath.Join(dir, "varve.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	w.advance(t, 0)
	var probes []*probe
	for i := range 4 {
		probes = append(probes, &probe{name: fmt.Sprintf("p%d", i), at: time.Now().Add(-time.Duration(i/2) * 24 * time.Hour)})
	}
	rng := rand.New(rand.NewPCG(uint64(kills), 8))
	done, end := 0, soakEnd()
	for ; done < kills && time.Now().Before(end); done++ {
		runProbes(t, binary, dir, probes, rng, done)
		if t.Failed() {
			t.Fatalf("after kill %d", done+1)
		}
	}
	h.mu.Lock()
	h.good = true
	h.mu.Unlock()
	w.advance(t, time.Hour) // longer than all pauses between attempts to deliver a message
	n := checkDelivered(t, binary, dir, h)
	t.Logf("%d kills, %d alerts, %d messages and %d copies of them, faults %v", done, n, len(h.accepted), h.copies, h.faults)
	if len(h.accepted) < 2*done || len(h.faults) < 3 {
		t.Errorf("too little was delivered to prove anything")
	}
}

// runProbes starts the service, writes readings that open and resolve alerts, and kills it. It waits until two
// readings per kill are acknowledged, so that a slow machine has alerts, too. The argument "done" is the number of
// earlier kills.
func runProbes(t *testing.T, binary, dir string, probes []*probe, rng *rand.Rand, done int) {
	s, err := varvetest.Start(t.Context(), binary, dir)
	if err != nil {
		t.Error(err)
		return
	}
	c, err := client.New(s.URL, client.WithRetries(0))
	if err != nil {
		t.Error(err)
		return
	}
	if done == 0 {
		_, err := c.AddRule(t.Context(), wire.RulePost{
			ID: "high", Stream: "weather", Field: "v", Comparison: ">", Threshold: json.RawMessage("0"), Gap: "none", Severity: "warning", Late: "notify",
		})
		if err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, p := range probes {
		wg.Go(func() {
			for range 4 {
				if !p.send(ctx, c) {
					return
				}
			}
		})
	}
	timer := time.NewTimer(time.Duration(rng.IntN(600)) * time.Millisecond)
	<-timer.C
	acked := func() (n int64) {
		for _, p := range probes {
			n += p.acks.Load()
		}
		return n
	}
	if least := int64(2 * (done + 1)); !varvetest.Eventually(func() bool { return acked() >= least }) {
		t.Errorf("%d readings are acknowledged, want %d", acked(), least)
	}
	if err := s.Kill(); err != nil {
		t.Error(err)
	}
	cancel()
	wg.Wait()
}

// checkDelivered starts the service once more, and waits until every alert is delivered. It returns
// the number of alerts.
func checkDelivered(t *testing.T, binary, dir string, h *hook) (n int) {
	s, err := varvetest.Start(t.Context(), binary, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	var pending int
	if !varvetest.Eventually(func() bool {
		missing, n = undelivered(t, c, h)
		page, err := c.Deliveries(t.Context(), "pending", client.List{})
		if err != nil {
			t.Error(err)
			return true
		}
		pending = len(page.Deliveries)
		return len(missing) == 0 && pending == 0
	}) {
		t.Errorf("%d messages are pending, and never delivered were %d of %d alerts: %v", pending, len(missing), n, missing[:min(len(missing), 5)])
	}
	failed, err := c.Deliveries(t.Context(), "failed", client.List{})
	if err != nil || len(failed.Deliveries) > 0 {
		t.Errorf("failed messages: %+v, %v", failed, err)
	}
	for _, w := range h.wrong {
		t.Error(w)
	}
	return n
}

// undelivered returns the openings and resolutions that the receiver has not accepted, and the
// number of alerts.
func undelivered(t *testing.T, c *client.Client, h *hook) (missing []string, n int) {
	for l := (client.List{Limit: 1000}); ; {
		page, err := c.Alerts(t.Context(), "", "", l)
		if err != nil {
			t.Error(err)
			return nil, 0
		}
		n += len(page.Alerts)
		for i := range page.Alerts {
			a := &page.Alerts[i]
			if what := "alert.opened " + a.ID; !h.has(what) {
				missing = append(missing, what)
			}
			if what := "alert.resolved " + a.ID; a.State == "resolved" && !h.has(what) {
				missing = append(missing, what)
			}
		}
		if l.Cursor = page.Next; l.Cursor == "" {
			return missing, n
		}
	}
}
