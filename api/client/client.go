// Package client implements the Go client of Varve's HTTP API.
//
//	New ──▶ Client ──▶ one method per operation ──▶ typed answer, or *varve.Error
//
// The main types and functions:
//
//   - [Client] calls one server. Its calls are grouped by resource, as in [AlertCalls].
//   - [New] returns a client, and [ReadOnly] restricts it to requests that change nothing.
//   - [Query] selects readings, and [Answer] describes the result of a query.
//   - [List] selects a page of a list, and [Pages] iterates over the whole list.
//
// If the server answers with an error, [varve.FailureOf] returns the failure that the server
// reported. Calls except CreateKey are retried if the server is busy, is unavailable or gives no
// answer, unless its certificate is not trusted. Resending readings is harmless: stored ones are
// duplicates. If the context ends, the error has its cause and the last error of the call. A Client
// is safe for concurrent use.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// Client calls one server. It is safe for concurrent use.
//
// Its calls are the methods of the embedded groups.
type Client struct {
	ReadingCalls
	DeviceCalls
	AlertCalls
	RejectCalls
	OperatorCalls
}

// ReadingCalls writes and reads readings, roll-ups and streams.
type ReadingCalls struct{ *connection }

// DeviceCalls reads and changes devices and their logs.
type DeviceCalls struct{ *connection }

// AlertCalls reads and changes alerts and their rules.
type AlertCalls struct{ *connection }

// RejectCalls reads, replays and deletes rejects.
type RejectCalls struct{ *connection }

// OperatorCalls manages tables and API keys, and verifies the store.
type OperatorCalls struct{ *connection }

type connection struct {
	base    string
	http    *http.Client
	retries int
	key     string
	roots   *x509.CertPool
	// isReadOnly makes every call except a GET fail.
	isReadOnly bool
}

// Option configures a client.
type Option func(*connection)

// WithHTTPClient sets the HTTP client that sends the requests. Its CheckRedirect is not used.
func WithHTTPClient(h *http.Client) Option { return func(c *connection) { c.http = h } }

// WithRetries sets the maximum number of retries of a call. A call is retried if it got no answer, or
// if the server was busy or unavailable. The default is 5.
func WithRetries(n int) Option { return func(c *connection) { c.retries = n } }

// WithKey sets the API key that is sent with every call.
func WithKey(key string) Option { return func(c *connection) { c.key = key } }

// ReadOnly makes the client refuse every call that is not a GET, before it is sent.
func ReadOnly() Option { return func(c *connection) { c.isReadOnly = true } }

// IsReadOnly reports whether the client has the option ReadOnly.
func (c *Client) IsReadOnly() bool { return c.ReadingCalls.isReadOnly }

// WithRootCAs makes the client trust only servers with certificates that the roots in pool signed.
// It does not change a client set by WithHTTPClient.
func WithRootCAs(pool *x509.CertPool) Option { return func(c *connection) { c.roots = pool } }

// DefaultServer is the address of a server without configuration.
const DefaultServer = "http://127.0.0.1:8278"

// New returns a client of the server at an address, such as http://127.0.0.1:8278.
func New(server string, opts ...Option) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not a server's address: write it as in %s", server, DefaultServer)
	}
	c := &connection{base: strings.TrimSuffix(server, "/"), retries: 5}
	for _, o := range opts {
		o(c)
	}
	if strings.ContainsFunc(c.key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("the API key has a blank, the end of a line or a letter outside ASCII: copy the key again")
	}
	if c.http == nil {
		c.http = &http.Client{Transport: transport(c.roots)}
	}
	// A followed redirect could turn a POST, PUT or DELETE into a GET, whose answer looks like a success.
	unredirected := *c.http
	unredirected.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &unredirected
	return &Client{ReadingCalls{c}, DeviceCalls{c}, AlertCalls{c}, RejectCalls{c}, OperatorCalls{c}}, nil
}

// transport returns a transport with enough idle connections for a program that writes in
// parallel.
func transport(roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	t.MaxIdleConnsPerHost = 64
	t.DisableCompression = true
	return t
}

// request is the request of one call. It can be sent several times, because body returns a new reader
// each time.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         func() (io.Reader, error)
	accept       []int // statuses besides 200 that are not errors, unless the body is a problem
	isDeletion   bool  // if an earlier try may have deleted the object, NotFound becomes errDeleted
}

// do sends a request until it succeeds, fails permanently, or has no retry left, or until ctx is done.
// The caller must close the body of the answer.
func (c *connection) do(ctx context.Context, r request) (*http.Response, error) {
	if c.isReadOnly && r.method != http.MethodGet {
		return nil, fmt.Errorf("%s %s: the client is read-only: create one without client.ReadOnly", r.method, r.path)
	}
	var last error
	mayBeDone := false
	for try := 0; ; try++ {
		resp, err := c.once(ctx, r)
		if err == nil {
			return resp, nil
		}
		if r.isDeletion && mayBeDone && varve.FailureOf(err) == varve.NotFound {
			return nil, errDeleted
		}
		mayBeDone = mayBeDone || varve.FailureOf(err) != varve.Busy
		wait, again := retryAfter(err, try)
		if ctx.Err() != nil && last != nil {
			return nil, gaveUp(ctx, last)
		}
		if !again || try >= c.retries || ctx.Err() != nil {
			return nil, err
		}
		last = err
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, gaveUp(ctx, last)
		}
	}
}

// errDeleted means that an object is missing after an earlier try that may have deleted the object.
var errDeleted = errors.New("an earlier try deleted the object")

// deleteObject deletes an object. It fails with varve.NotFound if the object did not exist before.
func (c *connection) deleteObject(ctx context.Context, path string) error {
	_, err := getJSON[wire.Deleted](ctx, c, request{method: http.MethodDelete, path: path, isDeletion: true})
	if errors.Is(err, errDeleted) {
		return nil
	}
	return err
}

// gaveUp returns an error with the reason for which ctx is done, and the last error of the call.
func gaveUp(ctx context.Context, last error) error {
	return fmt.Errorf("%w: %w", context.Cause(ctx), last)
}

// retryAfter returns the time to wait before a retry, or false if the call must not be retried.
func retryAfter(err error, try int) (time.Duration, bool) {
	backoff := min(100*time.Millisecond<<min(try, 6), 5*time.Second)
	backoff += rand.N(backoff)
	var e *varve.Error
	if !errors.As(err, &e) {
		return backoff, !untrusted(err) // the call got no answer
	}
	if e.Failure != varve.Busy && e.Failure != varve.Unavailable {
		return 0, false
	}
	return max(backoff, e.RetryAfter), true
}

const problemType = "application/problem+json"

func (c *connection) once(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		var err error
		if body, err = r.body(); err != nil {
			return nil, err
		}
	}
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(c.base, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	for _, status := range r.accept {
		if resp.StatusCode == status && resp.Header.Get("Content-Type") != problemType {
			return resp, nil
		}
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		return nil, errors.Join(redirected(req.URL, to), resp.Body.Close())
	}
	return nil, errors.Join(problem(resp), resp.Body.Close())
}

// redirected returns the error of a call that a server, or a proxy, redirects to another URL.
func redirected(from, to *url.URL) error {
	address := func(u *url.URL) string { return strings.TrimSuffix(u.String(), from.RequestURI()) }
	return varve.Errorf(varve.Internal, "%s redirects to %s: use that address", address(from), address(to))
}

// untrusted reports whether a server's certificate was refused. A retry would fail, too.
func untrusted(err error) bool {
	var refused *tls.CertificateVerificationError
	return errors.As(err, &refused)
}

// unreachable wraps the error of a call without an answer, with a remedy.
func unreachable(base string, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if untrusted(err) {
		return fmt.Errorf("the certificate of %s is not trusted: %w", base, err)
	}
	return fmt.Errorf("no answer from %s (is `varve serve` running there?): %w", base, err)
}

func problem(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("%s, and its body cannot be read: %w", resp.Status, err)
	}
	var p wire.Problem
	var answer wire.WriteAnswer // the body of the answer, if all readings were rejected and may be stored later
	switch {
	case json.Unmarshal(text, &p) == nil && p.Detail != "":
	case json.Unmarshal(text, &answer) == nil && len(answer.Rejects) > 0:
		p.Detail = answer.Rejects[0].Message
	default:
		p.Detail = fmt.Sprintf("%s: %.200s", resp.Status, text) // the answer of a proxy or of another server
	}
	p.Status = resp.StatusCode
	return problemError(&p, resp.Header)
}

// problemError returns a problem as an error. The argument header has the headers of its answer.
func problemError(p *wire.Problem, header http.Header) error {
	e := &varve.Error{Failure: failureOf(p.Status), Message: p.Detail}
	if p.Code == wire.CodeDamaged {
		e.Failure = varve.Damaged
	}
	if len(p.Errors) > 0 {
		e.Param = p.Errors[0].Location
		e.Message = strings.TrimPrefix(e.Message, e.Param+": ")
		e.Param = strings.TrimPrefix(e.Param, "query.")
	}
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	if p.Code == wire.CodeNoDevice && header.Get("Content-Type") == problemType {
		return &wire.NoDeviceError{Err: e}
	}
	if len(p.Unrecorded) > 0 {
		return &wire.UnrecordedError{Err: e, Files: p.Unrecorded}
	}
	return e
}

// failureOf returns the failure that a status reports. The statuses of gateways mean that the server is
// unreachable.
func failureOf(status int) varve.Failure {
	switch status {
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return varve.Unavailable
	}
	return wire.FailureOfStatus(status)
}

func getJSON[T any](ctx context.Context, c *connection, r request) (answer T, err error) {
	resp, err := c.do(ctx, r)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("the answer to %s %s cannot be read: %w", r.method, r.path, err)
	}
	return answer, nil
}

func seriesPath(stream, device, what string) string {
	return "/v1/streams/" + segment(stream) + "/devices/" + segment(device) + "/" + what
}

// segment returns the name of an object as one segment of a path. It escapes the names . and .. too,
// because a path with them would lead to another route.
func segment(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}
