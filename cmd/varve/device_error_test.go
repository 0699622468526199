package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDeviceError_NamesArgument checks that an error about a device names the argument DEVICE, or the flag
// --device.
func TestDeviceError_NamesArgument(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"title":"x","status":400,"detail":"query.device: is too long","errors":[{"message":"is too long","location":"query.device"}]}`)) // the test reports a lost answer
	}))
	t.Cleanup(server.Close)
	for args, want := range map[string]string{
		"count weather d":                 "DEVICE: is too long",
		"aggregate weather d e --step 1h": "DEVICE: is too long",
		"latest weather d":                "DEVICE: is too long",
		"rejects replay r1 --device d":    "--device: is too long",
	} {
		if code, text := runTo(t, append(strings.Fields(args), "--server", server.URL)...); code == exitOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", args, code, text, want)
		}
	}
}
