package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Webhook sends each message in a POST request, by the rules of Standard Webhooks.
type Webhook struct {
	url    string
	keys   [][]byte // nil if requests are not signed
	now    func() time.Time
	client *http.Client
}

// secretPrefix is the first part of each secret, before the base64 text.
const secretPrefix = "whsec_"

// NewWebhook returns a notifier that sends to a URL. The secret is one or more lines, each with
// whsec_ and base64 of at least 16 bytes. Requests are signed with all of them, so that a receiver
// can change its secret. If the secret is empty, requests are not signed.
func NewWebhook(address, secret string, now func() time.Time) (*Webhook, error) {
	if err := CheckURL(address); err != nil {
		return nil, err
	}
	w := &Webhook{url: address, now: now, client: newClient()}
	for _, line := range strings.Fields(secret) {
		text, ok := strings.CutPrefix(line, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(key) < 16 {
			return nil, errors.New("secret: not whsec_ and base64 of 16 bytes or more: make one with echo whsec_$(openssl rand -base64 32)")
		}
		w.keys = append(w.keys, key)
	}
	return w, nil
}

// CheckURL returns an error for a URL to which messages cannot be sent.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("not an address, as in https://example.com/hook")
	case u.User != nil:
		return errors.New("has a password: use secret_file or secret_env")
	}
	return nil
}

// newClient returns a client that does not follow redirects, because a message is for one receiver.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = parallel
	return &http.Client{
		Transport:     transport,
		Timeout:       sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Send implements Notifier.
func (w *Webhook) Send(ctx context.Context, m *Message) error {
	body, err := m.body()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(w.now().Unix(), 10)
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Webhook-Id", m.ID)
	h.Set("Webhook-Timestamp", at)
	h.Set("Idempotency-Key", m.ID)
	if len(w.keys) > 0 {
		h.Set("Webhook-Signature", w.signature(m.ID, at, body))
	}
	return post(w.client, req, w.now)
}

func (w *Webhook) signature(id, at string, body []byte) string {
	var all []string
	for _, key := range w.keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", id, at, body) // a hash.Hash never returns an error
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// longestAnswer is the maximum number of bytes that post reads from an answer. It reads the answer so
// that the connection can be reused.
const longestAnswer = 64 << 10

// post sends a request, and classifies the answer. Its errors omit the URL, whose path may be a
// secret. They may name the host.
func post(client *http.Client, req *http.Request, now func() time.Time) error {
	req.Header.Set("User-Agent", "varve")
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return &SendError{Fault: Unreachable, Err: fmt.Errorf("no answer: %w", err)}
	}
	_, readErr := io.Copy(io.Discard, io.LimitReader(resp.Body, longestAnswer))
	if err := errors.Join(readErr, resp.Body.Close()); err != nil && resp.StatusCode/100 != 2 {
		return &SendError{Fault: Unreachable, Err: fmt.Errorf("read the answer: %w", err)}
	}
	return statusError(resp, now())
}

// statusError returns the error of an answer, or nil if the answer confirms the message.
func statusError(resp *http.Response, now time.Time) error {
	code := resp.StatusCode
	if code/100 == 2 {
		return nil
	}
	e := &SendError{Fault: Refused, Err: fmt.Errorf("the receiver answered %d %s", code, http.StatusText(code))}
	switch {
	case code == http.StatusGone:
		e.Fault = Gone
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		e.Fault, e.After = Unreachable, retryAfter(resp.Header.Get("Retry-After"), now)
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly:
		e.Fault = Unreachable
	}
	return e
}

// retryAfter returns the pause that a receiver asked for. The text has seconds or a date. If it has
// neither, the pause is 0.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return time.Duration(min(n, int(GiveUp/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
