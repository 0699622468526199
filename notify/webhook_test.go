package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/notify"
)

// secret is a secret of Standard Webhooks, from the example of its specification.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

func webhook(t *testing.T, url, secret string) *notify.Webhook {
	t.Helper()
	w, err := notify.NewWebhook(url, secret, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWebhook_SignsMessages checks the headers of a request by the specification of Standard Webhooks.
// A signature is the HMAC of id, timestamp and body, separated by dots.
func TestWebhook_SignsMessages(t *testing.T) {
	var header http.Header
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		header = r.Header
	}))
	defer s.Close()
	m := notify.NewTest(noon)
	if err := webhook(t, s.URL, secret+"\nwhsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAA\n").Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if header.Get("Webhook-Id") != m.ID || header.Get("Idempotency-Key") != m.ID || header.Get("Webhook-Timestamp") != "1795003200" {
		t.Errorf("%v, want message %s at %d", header, m.ID, noon.Unix())
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(m.ID + ".1795003200." + string(body)))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)) + " v1,"
	if got := header.Get("Webhook-Signature"); !strings.HasPrefix(got, want) || strings.Count(got, "v1,") != 2 {
		t.Errorf("signature %q, want %q and one more", got, want)
	}
	var sent struct {
		Type      notify.Type
		Timestamp time.Time
		Data      struct{ Text string }
	}
	if err := json.Unmarshal(body, &sent); err != nil || sent.Type != notify.Test || !sent.Timestamp.Equal(noon) || sent.Data.Text == "" {
		t.Errorf("body %s, %v", body, err)
	}
}

// TestWebhook_ClassifiesAnswers checks the fault of each status, and the pause that the receiver asks for.
func TestWebhook_ClassifiesAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		after  string
		fault  notify.Fault
		pause  time.Duration
	}{
		{500, "", notify.Unreachable, 0}, {502, "7", notify.Unreachable, 0}, {408, "", notify.Unreachable, 0},
		{429, "7", notify.Unreachable, 7 * time.Second}, {503, "Wed, 18 Nov 2026 12:01:00 GMT", notify.Unreachable, time.Minute},
		{503, "soon", notify.Unreachable, 0}, {429, "-1", notify.Unreachable, 0}, {429, "99999999999", notify.Unreachable, 0},
		{400, "", notify.Refused, 0}, {401, "", notify.Refused, 0}, {404, "", notify.Refused, 0}, {302, "", notify.Refused, 0},
		{410, "", notify.Gone, 0},
	} {
		requests := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.Header().Set("Location", "/elsewhere")
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			w.WriteHeader(c.status)
		}))
		err := webhook(t, s.URL, "").Send(t.Context(), notify.NewTest(noon))
		s.Close()
		var e *notify.SendError
		if !errors.As(err, &e) || e.Fault != c.fault || requests != 1 || e.After != c.pause && c.after != "99999999999" {
			t.Errorf("%d %q: %+v after %d requests, want fault %d and a pause of %s", c.status, c.after, err, requests, c.fault, c.pause)
		}
	}
}

// TestWebhook_HidesURLInErrors checks errors of connections. They must not contain the path of the URL,
// which may be a secret.
func TestWebhook_HidesURLInErrors(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // without this read, the server would not notice that the client is gone
			t.Error(err)
		}
		<-r.Context().Done()
	}))
	defer hanging.Close()
	for _, url := range []string{s.URL, hanging.URL} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := webhook(t, url+"/hook/T0P53CR3T", secret).Send(ctx, notify.NewTest(noon))
		cancel()
		var e *notify.SendError
		if !errors.As(err, &e) || e.Fault != notify.Unreachable || strings.Contains(err.Error(), "T0P53CR3T") {
			t.Errorf("%v: want an error that can be retried, without the path", err)
		}
	}
}

func TestNewWebhook_RejectsMistakes(t *testing.T) {
	for _, c := range []struct{ url, secret string }{
		{"example.com/hook", ""}, {"ftp://example.com", ""}, {"https://user:pass@example.com", ""}, {"", ""},
		{"https://example.com", "secret"}, {"https://example.com", "whsec_short"}, {"https://example.com", "whsec_!!!!"},
	} {
		if _, err := notify.NewWebhook(c.url, c.secret, time.Now); err == nil || strings.Contains(err.Error(), "!!!!") {
			t.Errorf("%q, %q: %v, want an error without the secret", c.url, c.secret, err)
		}
	}
}
