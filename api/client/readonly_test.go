package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// TestReadOnly_SendsOnlyGET checks that a read-only client sends no request that could change
// anything.
func TestReadOnly_SendsOnlyGET(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	c, err := New(server.URL, ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	calls := map[string]func() error{
		"apply":   func() error { _, err := c.Apply(ctx); return err },
		"restore": func() error { _, err := c.Restore(ctx, "t"); return err },
		"hold":    func() error { _, err := c.Hold(ctx, "t", "case 17"); return err },
		"release": func() error { _, err := c.Release(ctx, "t"); return err },
		"device":  func() error { _, err := c.PutDevice(ctx, "d", wire.DevicePut{}); return err },
		"delete":  func() error { return c.DeleteDevice(ctx, "d") },
		"rule":    func() error { return c.DeleteRule(ctx, "r") },
		"resolve": func() error { _, err := c.ResolveAlert(ctx, "a"); return err },
		"rebuild": func() error { _, err := c.RebuildRollups(ctx, "s", "d", "", ""); return err },
	}
	for name, call := range calls {
		if err := call(); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if requests != 0 {
		t.Errorf("%d requests were sent", requests)
	}
	if _, err := c.Tables(ctx); err != nil || requests != 1 || !c.IsReadOnly() {
		t.Errorf("a GET: %v, %d requests", err, requests)
	}
	if _, err := c.Latest(ctx, "s", varve.ByEvent, "d"); err != nil {
		t.Error(err)
	}
}
