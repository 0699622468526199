package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/reconcile"
)

// TestRedirect_IsError deletes a device at a server that redirects. The call must fail with the address, because a
// redirected DELETE could become a GET that succeeds.
func TestRedirect_IsError(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("redirected to %s %s", r.Method, r.URL)
		_, _ = w.Write([]byte(`{}`)) // the error above is enough
	}))
	defer target.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target.URL+r.URL.RequestURI(), status)
		}))
		for name, h := range map[string]*http.Client{"default": nil, "own": {}} {
			var opts []client.Option
			if h != nil {
				opts = append(opts, client.WithHTTPClient(h))
			}
			c, err := client.New(server.URL, opts...)
			if err != nil {
				t.Fatal(err)
			}
			want := server.URL + " redirects to " + target.URL + ": use that address"
			if err := c.DeleteDevice(t.Context(), "d/1"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d with the %s client: %v, want an error with %q", status, name, err, want)
			}
		}
		server.Close()
	}
}

// TestMissingHours_RefusesOtherAnswers calls a server whose answer compares no periods. The call must fail.
func TestMissingHours_RefusesOtherAnswers(t *testing.T) {
	var set reconcile.Set
	set.Add(&varve.Reading{Series: varve.Series{Stream: "weather", Device: "d1"}})
	s := &script{answers: []answer{{status: 200, media: "application/json", body: `{"start":"x"}`}}}
	hours, _, err := s.client(t).MissingHours(t.Context(), "weather", "d1", &set)
	if want := "the answer compares 0 periods of 1"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, %v, want %q", hours, err, want)
	}
}
