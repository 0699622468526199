package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/tests/varvetest"
)

// TestKill_DevicesStayRegistered kills the server just after it has acknowledged the first readings of
// devices. The devices must be registered. They do not report after the kill, and deadman rules must open
// alerts for two of them.
func TestKill_DevicesStayRegistered(t *testing.T) {
	dir := t.TempDir()
	clock := filepath.Join(dir, "clock")
	binary, err := varvetest.Build(t.Context(), dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{clockFile: clock}
	w.advance(t, 0)
	if err := os.WriteFile(filepath.Join(dir, "varve.yaml"), []byte("log: {level: warn}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, c := startServer(t, binary, dir)
	var rules []string
	for _, rule := range []wire.RulePost{
		{Kind: "deadman", Device: "of100_99", Severity: "critical", For: "1h"},
		{Kind: "deadman", Device: "of5000_4999", Stream: "weather", Severity: "warning", For: "1h"},
	} {
		made, err := c.AddRule(t.Context(), rule)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, made.Rule.ID)
	}
	w.advance(t, time.Hour) // the readings below arrive an hour after the rules were added
	for _, n := range []int{100, 5000} {
		readings := make([]varve.Reading, n)
		for i := range readings {
			readings[i] = varve.Reading{
				Series: varve.Series{Device: fmt.Sprintf("of%d_%d", n, i)}, Time: w.now(), Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
			}
		}
		answer, err := c.WriteReadings(t.Context(), "weather", readings)
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if err != nil || answer.Stored != int64(n) {
			t.Fatalf("%+v, %v", answer, err)
		}
		s, c = startServer(t, binary, dir)
		if got := countDevices(t, c, fmt.Sprintf("of%d_", n)); got != n {
			t.Errorf("%d of %d devices are registered after a kill", got, n)
		}
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	w.advance(t, 2*time.Hour)
	s, c = startServer(t, binary, dir)
	for _, rule := range rules {
		if !varvetest.Eventually(func() bool { return alerted(t, c, rule) }) {
			t.Errorf("rule %s has no alert for a silent device", rule)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func startServer(t *testing.T, binary, dir string) (*varvetest.Server, *client.Client) {
	t.Helper()
	s, err := varvetest.Start(t.Context(), binary, dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.URL, client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// countDevices returns the number of registered devices whose names have a prefix.
func countDevices(t *testing.T, c *client.Client, prefix string) (n int) {
	t.Helper()
	devices := client.Pages(client.List{Limit: 1000}, func(l client.List) ([]wire.DeviceBody, string, error) {
		page, err := c.Devices(t.Context(), "", l)
		return page.Devices, page.Next, err
	})
	for d, err := range devices {
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Device) > len(prefix) && d.Device[:len(prefix)] == prefix {
			n++
		}
	}
	return n
}

func alerted(t *testing.T, c *client.Client, rule string) bool {
	t.Helper()
	list, err := c.Alerts(t.Context(), "", "", client.List{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list.Alerts {
		if a.Rule == rule {
			return true
		}
	}
	return false
}
