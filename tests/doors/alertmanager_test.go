package doors

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

// people receives the notifications of an Alertmanager.
type people struct {
	mu   sync.Mutex
	told map[string]map[string]string // annotations of alerts, by status, device, severity and name of the alert
}

func (p *people) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body struct {
		Alerts []struct {
			Status              string
			Labels, Annotations map[string]string
		}
	}
	text, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(text, &body) != nil {
		return // the test fails, because this notification is missing
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range body.Alerts {
		p.told[a.Status+" "+a.Labels["device"]+" "+a.Labels["severity"]+" "+a.Labels["alertname"]] = a.Annotations
	}
}

func (p *people) get(what string) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[what]
}

// startAlertmanager starts an Alertmanager that sends a separate notification for each device and
// alert name. It returns its URL.
func startAlertmanager(t *testing.T, receiver string) string {
	t.Helper()
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		varvetest.SkipOutsideCI(t, "prometheus-alertmanager is missing: tests/need.sh names its package")
	}
	dir := t.TempDir()
	settings := fmt.Sprintf("route: {receiver: r, group_by: [device, alertname], group_wait: 1s, group_interval: 2s}\n"+
		"receivers: [{name: r, webhook_configs: [{url: %q, send_resolved: true}]}]\n", receiver)
	if err := os.WriteFile(filepath.Join(dir, "am.yml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.Command(program, "--config.file", filepath.Join(dir, "am.yml"), "--storage.path", dir, "--web.listen-address", address, "--cluster.listen-address=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // Alertmanager may have ended already
		_ = cmd.Wait()         // fails, because the process was killed
	})
	url := "http://" + address
	if !varvetest.Eventually(func() bool {
		resp, err := http.Get(url + "/-/ready")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}) {
		t.Fatal("the Alertmanager is not ready")
	}
	return url
}

// TestAlertmanager_NotifiesOfAlerts checks the notifications of a real Alertmanager. It must notify of
// an alert that opens, of its resolution, and of an alert that was over before it was known.
func TestAlertmanager_NotifiesOfAlerts(t *testing.T) {
	t.Parallel()
	p := &people{told: map[string]map[string]string{}}
	receiver := httptest.NewServer(p)
	t.Cleanup(receiver.Close)
	am := startAlertmanager(t, receiver.URL)
	s := startServer(t, "--set", "notifiers.am.kind=alertmanager", "--set", "notifiers.am.url="+am)
	rule := `{"id":"hot","stream":"weather","field":"v","comparison":">","threshold":30,"gap":"none","severity":"critical","late":"notify"}`
	if status, text := s.call(t, http.MethodPost, "/v1/alert-rules", rule); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	now := time.Now().UTC().Truncate(time.Second)
	write := func(device string, at time.Time, v int) {
		t.Helper()
		body := fmt.Sprintf(`[{"device":%q,"time":%q,"fields":{"v":%d}}]`, device, at.Format(time.RFC3339), v)
		if status, text := s.call(t, http.MethodPost, "/v1/streams/weather/readings", body); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	old := now.Add(-48 * time.Hour)
	write("late", old, 35)
	write("late", old.Add(time.Minute), 20)
	write("d1", now, 35)
	expect := func(what string, annotations map[string]string) {
		t.Helper()
		if !varvetest.Eventually(func() bool { return p.get(what) != nil }) {
			t.Fatalf("people never hear of %q", what)
		}
		for name, want := range annotations {
			if got := p.get(what)[name]; !strings.HasPrefix(got, want) {
				t.Errorf("%s: annotation %s is %q, want %q", what, name, got, want)
			}
		}
	}
	expect("firing d1 critical hot", map[string]string{"condition": "v > 30", "since": now.Format(time.RFC3339), "value": "35", "late": ""})
	expect("firing late critical hot", map[string]string{"since": old.Format(time.RFC3339), "late": "true"})
	write("d1", now.Add(time.Second), 20)
	expect("resolved d1 critical hot", map[string]string{"resolved_by": "condition", "resolved_at": now.Add(time.Second).Format(time.RFC3339)})
}
